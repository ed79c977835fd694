"""The address to which Slack sends events and button presses: an ASGI application outside of Django's handler.

The signature and its time are checked before anything of a request is read; `slack-bolt` answers Slack's own questions.
The response is sent after the event has been stored: Slack sends an event again that gets no 200.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from importlib.util import find_spec
from typing import TYPE_CHECKING

from django.core.exceptions import RequestAborted
from django.http import HttpResponse

from runtime.errors import how_to_install
from sessions_app.api.access.problems import problem_of
from sessions_app.asgi.origin import is_from_own_page
from sessions_app.asgi.problem_details import method_not_allowed, problem
from sessions_app.asgi.protocol import AsgiScope, Receive, Send, headers_of, read_body, send_response
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError, NotInstalledError, PermissionDeniedError

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncApp

ROUTE = "slack/events"
NO_PACKAGE = f"Slack needs the package 'slack-bolt': {how_to_install('slack')}"
NO_SECRET = "Slack is not set up: settings.ADK has no 'slack_signing_secret'."  # noqa: S105 - a sentence
NOT_SIGNED = "The request has no valid signature of Slack, or is older than five minutes."
NO_EVENT = "The body is no JSON object with an event or an action of Slack."
MAX_BODY_BYTES = 1_000_000


async def slack_events(scope: AsgiScope, receive: Receive, send: Send) -> None:
    """Take an event or an action of Slack."""
    try:
        await send_response(send, await _response_to(scope, receive))
    except RequestAborted:
        return  # Slack has closed the connection, and sends the event again.
    except Exception as error:  # noqa: BLE001 - logged, and reported to the sender
        await send_response(send, problem_of(error))


async def _response_to(scope: AsgiScope, receive: Receive) -> HttpResponse:
    if scope["method"] != "POST":
        return method_not_allowed("POST")
    if find_spec("slack_bolt") is None:
        raise NotInstalledError(NO_PACKAGE)
    settings = conf()
    if not settings.slack_signing_secret:
        raise NotInstalledError(NO_SECRET)
    if not is_from_own_page(scope, needs_origin=False):
        raise PermissionDeniedError("The site has no such host.")
    from slack_bolt.async_app import AsyncBoltRequest

    from sessions_app.contrib.slack.incoming import SCOPE

    body = await read_body(receive, MAX_BODY_BYTES)
    headers = headers_of(scope)
    if not _is_signed(settings.slack_signing_secret, body, headers):
        return problem(HTTPStatus.UNAUTHORIZED, NOT_SIGNED, "unauthorized")
    try:
        request = AsyncBoltRequest(body=body.decode(), headers={**headers}, context={SCOPE: scope})
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        # Bolt takes every body for an object, and looks for the workspace and the account in it.
        raise InvalidInputError(NO_EVENT) from error
    if not isinstance(request.body.get("event", {}), dict):
        raise InvalidInputError(NO_EVENT)
    answer = await _app(settings.slack_signing_secret).async_dispatch(request)
    response = HttpResponse(answer.body, status=answer.status)
    for name, values in answer.headers.items():
        response[name] = values[0]
    return response


def _is_signed(secret: str, body: bytes, headers: Mapping[str, str]) -> bool:
    from slack_sdk.signature import SignatureVerifier

    try:
        return SignatureVerifier(secret).is_valid_request(body, headers)
    except (TypeError, ValueError):  # bytes, a time or a signature that Slack never sends
        return False


@lru_cache(maxsize=1)
def _app(signing_secret: str) -> "AsyncApp":
    from slack_bolt.async_app import AsyncApp
    from slack_bolt.authorization import AuthorizeResult

    from sessions_app.contrib.slack.incoming import take_action, take_message

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult | None:
        token = conf().slack_tokens.get(team_id or "")
        if not token:
            return None
        return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=token)

    async def ignore() -> None:
        """Accept the events that nobody listens to."""

    app = AsyncApp(
        signing_secret=signing_secret,
        authorize=authorize,  # type: ignore[arg-type]  # None is an unknown workspace
        process_before_response=True,
        # Bolt would read the body first, and fail at one that is no JSON.
        request_verification_enabled=False,
    )
    app.event(re.compile("^(message|app_mention)$"))(take_message)
    app.event(re.compile(""))(ignore)
    app.action(re.compile(""))(take_action)
    return app
