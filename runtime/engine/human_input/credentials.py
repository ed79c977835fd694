"""Credentials: a function call needs a secret from the person (contract T8).

A call of `adk_request_credential`, without secrets, asks the person. The secret is removed from the answer before
plugins, models and the session service see it; the stored event only records that a credential was given. The
credential stays in the memory of the invocation that the answer starts. If the process dies before the call has run,
the credential is lost and the tool asks again, unless the application keeps it: an application may take credentials
out of the message and pass them to `Runner.run_async`, also for a resume. Tools exchange OAuth codes for tokens.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from runtime import types
from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_tool import AuthConfig, AuthToolArguments
from runtime.engine.build_events import new_call_id
from runtime.errors import InvalidAnswerError
from runtime.events.calls import REQUEST_CREDENTIAL, ResponseStatus, find_request
from runtime.events.event import Event
from runtime.events.event_actions import EventActions

PENDING = {
    "status": ResponseStatus.PENDING.value,
    "message": "This call requires a credential from the person. It has not run yet; do not call it again.",
}
_KEY = "credentialKey"
_GIVEN = "given"
_FOUND_ADDRESSES = ("issuer", "token_url", "revocation_url", "resource")
_ANSWER: TypeAdapter[AuthConfig | AuthCredential] = TypeAdapter(AuthConfig | AuthCredential)


def credential_requests(
    calls: Iterable[types.FunctionCall], actions: EventActions
) -> list[types.FunctionCall]:
    """Return a credential request for each call that needs a credential."""
    requested = actions.requested_auth_configs
    return [_request(call.id, requested[call.id]) for call in calls if call.id and call.id in requested]


def extract_credentials(
    message: types.Content, events: Sequence[Event]
) -> tuple[types.Content, dict[str, AuthCredential]]:
    """Return the message without secrets, and its credentials by credential key.

    Drop credentials that answer no recorded request. Leave an answer unchanged if its credential was removed before.

    Raises:
        InvalidAnswerError: an answer is not a credential.
    """
    parts: list[types.Part] = []
    credentials: dict[str, AuthCredential] = {}
    for part in message.parts or []:
        response = part.function_response
        if response is None or response.name != REQUEST_CREDENTIAL or _is_redacted(response):
            parts.append(part)
            continue
        # The key comes from the recorded request: an answer cannot choose the key to store its credential under.
        key = _requested_key(response, events)
        given = _read_credential(response)
        if key and given:
            credentials[key] = given
        redacted = response.model_copy(update={"response": {_KEY: key, _GIVEN: given is not None}})
        parts.append(part.model_copy(update={"function_response": redacted}))
    return message.model_copy(update={"parts": parts}), credentials


def _request(call_id: str, config: AuthConfig) -> types.FunctionCall:
    arguments = AuthToolArguments(function_call_id=call_id, auth_config=config)
    args = arguments.model_dump(mode="json", by_alias=True, exclude_none=True)
    return types.FunctionCall(id=new_call_id(), name=REQUEST_CREDENTIAL, args=args)


def _is_redacted(response: types.FunctionResponse) -> bool:
    fields = response.response or {}
    return fields.keys() == {_KEY, _GIVEN} and isinstance(fields[_GIVEN], bool)


def _requested_key(response: types.FunctionResponse, events: Sequence[Event]) -> str | None:
    request = find_request(events, response)
    if request is None:
        return None
    return AuthToolArguments.model_validate(request.args).auth_config.credential_key


def _read_credential(response: types.FunctionResponse) -> AuthCredential | None:
    """Return the credential, or None if the person gave none."""
    fields: dict[str, Any] = response.response or {}
    try:
        if set(fields) == {"response"}:
            fields = from_json(fields["response"])
        answer = _ANSWER.validate_python(fields) if fields else None
    except (ValidationError, ValueError, TypeError):
        # `from None`: the parser's error quotes its input, which holds the secret.
        raise InvalidAnswerError(
            f"The answer to credential request {response.id!r} cannot be read. "
            "Send the authConfig back with its exchangedAuthCredential filled in."
        ) from None
    given = answer.exchanged_auth_credential if isinstance(answer, AuthConfig) else answer
    if given and given.oauth2:
        # Secrets go to these addresses: they are found out by the site, and are not the person's to give.
        given.oauth2 = given.oauth2.model_copy(update=dict.fromkeys(_FOUND_ADDRESSES))
    return given
