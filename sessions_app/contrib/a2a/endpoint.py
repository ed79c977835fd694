"""Addresses of the agents served by A2A: ASGI applications outside of Django's handler.

The SDK's server would answer some unusual requests with an internal error, so method, app, key and JSON are checked
here first. While `ADK["a2a_apps"]` names no app, nothing is served, and the package `a2a-sdk` is not needed.
"""

from http import HTTPStatus
from types import ModuleType

from django.core.exceptions import DisallowedHost, RequestAborted
from django.http import HttpResponse

from runtime.apps.app import App
from sessions_app.agent_apps import registry
from sessions_app.api.access.authentication import caller_with_bearer_key
from sessions_app.api.access.connections import reserve_connection
from sessions_app.api.access.problems import problem_of
from sessions_app.api.json_bodies import refusal_of_json_rpc
from sessions_app.asgi.origin import http_request
from sessions_app.asgi.problem_details import method_not_allowed, problem
from sessions_app.asgi.protocol import AsgiScope, Receive, Send, read_body, send_response
from sessions_app.conf import EVERYONE, conf
from sessions_app.errors import NotFoundError
from sessions_app.sessions.agent_access import require_use

CARD_ROUTE = "a2a/<str:app_name>/.well-known/agent-card.json"
AGENT_ROUTE = "a2a/<str:app_name>/"
CARD_SECONDS = 300
"""Time for which clients may cache an agent card."""


async def agent_card(scope: AsgiScope, receive: Receive, send: Send) -> None:
    """Serve the public card of an agent."""
    if scope["method"] != "GET":
        await send_response(send, method_not_allowed("GET"))
        return
    try:
        app = _served(scope)
        if conf().access_of(app.name) != EVERYONE:  # Its card is for callers who may use it.
            await require_use((await caller_with_bearer_key(scope)).user.pk, app.name)
        card = http_request(scope).build_absolute_uri(".").removesuffix(".well-known/")
        response = HttpResponse(_server().card_json(app, card), content_type="application/json")
        kind = "public" if conf().access_of(app.name) == EVERYONE else "private"
        response["Cache-Control"] = f"{kind}, max-age={CARD_SECONDS}"
        await send_response(send, response)
    except DisallowedHost:
        await send_response(send, problem(HTTPStatus.BAD_REQUEST, "The site has no such host.", "invalid"))
    except Exception as error:  # noqa: BLE001 - logged, and reported to the program
        await send_response(send, problem_of(error))


async def agent(scope: AsgiScope, receive: Receive, send: Send) -> None:
    """Serve the methods of an agent to programs with a key."""
    if scope["method"] != "POST":
        await send_response(send, method_not_allowed("POST"))
        return
    try:
        app = _served(scope)
        caller = await caller_with_bearer_key(scope)
        await require_use(caller.user.pk, app.name)
        with await reserve_connection(caller):
            # Files come as base64 in the JSON, so a body is larger than its files.
            body = await read_body(receive, 2 * conf().upload_bytes)
            refusal = refusal_of_json_rpc(body, HTTPStatus.OK)
            if refusal is not None:
                await send_response(send, refusal)
            else:
                await _server().answer(caller, app.name, scope, body, receive, send)
    except RequestAborted:
        return  # The program has left.
    except Exception as error:  # noqa: BLE001 - logged, and reported to the program
        await send_response(send, problem_of(error))


def _served(scope: AsgiScope) -> App:
    """Return the app of the address.

    Raises:
        NotFoundError: there is no such app, or A2A does not serve it.
    """
    name = scope["url_route"]["kwargs"]["app_name"]
    app = registry.apps().get(name) if name in conf().a2a_apps else None
    if app is None:
        raise NotFoundError("There is no such agent here.")
    return app


def _server() -> ModuleType:
    """Import and return `server`, which needs the optional package `a2a-sdk`."""
    from sessions_app.contrib.a2a import server

    return server
