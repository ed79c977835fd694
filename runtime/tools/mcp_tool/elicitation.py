"""Questions of a server about a call (elicitation) as questions to the person, which wait like confirmations.

The server answers the call with what it needs, in place of a result. The call then waits (contract T7) with the
server's message, and inputs for the fields that it asks for. The answer runs the call again in any process, also days
later, and the server continues by its own `request_state`, which the question keeps.

A server may also want the person to open a page of its own (URL mode). One of protocol 2025-11-25 then refuses the call
with an error that names the page, and takes the same call later.
"""

from collections.abc import Mapping
from typing import Any

from mcp import MCPError
from mcp.types import (
    URL_ELICITATION_REQUIRED,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
)
from pydantic import BaseModel, ValidationError

from runtime.context import Context

PENDING = {"status": "The server asks the user something. The call goes on with the answer."}
MAX_MESSAGE_CHARACTERS = 4_000
MAX_FIELDS = 30
NOT_OPENED = "The user did not open the page that the server asks for."
_ASKED = "adk_mcp_question"
_REFUSAL = ""
"""Key of a question that the server has asked by refusing the call: the answer is not sent to it."""
_WEB = ("https://", "http://")
_EMPTY: Mapping[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}


class _Question(BaseModel):
    """Data that the answer needs: the server's key of the question, its fields, and the server's state."""

    key: str
    fields: list[str]
    state: str | None


class _Refusal(BaseModel):
    """Data of the error of a server that wants pages to be opened before it takes the call."""

    elicitations: list[ElicitRequestURLParams]


async def cancel_question(context: Any, params: Any) -> ElicitResult:
    """Cancel a question of the older protocol, which a server asks within a running call: the call cannot wait."""
    return ElicitResult(action="cancel")


def given_answers(context: Context) -> tuple[InputResponses | None, str | None]:
    """Return the person's answers for the server, and the state from which it continues; None for a new call."""
    confirmation = context.tool_confirmation
    asked = _answered_question(context)
    if confirmation is None or asked is None or asked.key == _REFUSAL:
        return None, None
    values: Mapping[str, Any] = confirmation.payload or {}
    fields = {name: values[name] for name in asked.fields if name in values}
    answer = ElicitResult(action="decline")
    if confirmation.confirmed:
        try:
            answer = ElicitResult(action="accept", content=fields or None)
        except ValidationError:  # A program may answer anything: the server asks again.
            return None, None
    return {asked.key: answer}, asked.state


def was_declined(context: Context) -> bool:
    """Return True if the person did not open the page that a refused call needs."""
    asked = _answered_question(context)
    confirmation = context.tool_confirmation
    return asked is not None and asked.key == _REFUSAL and not (confirmation and confirmation.confirmed)


def ask_person(context: Context, server_name: str, result: InputRequiredResult) -> bool:
    """Ask the person what the server needs; return False if it is not one question to a person that fits in a form."""
    requests = list((result.input_requests or {}).items())
    if len(requests) != 1 or not isinstance(requests[0][1], ElicitRequest):
        return False
    key, request = requests[0]
    match request.params:
        case ElicitRequestFormParams(message=message, requested_schema=schema):
            properties = schema.get("properties")
            if not isinstance(properties, dict):
                properties = {}
            fields = {name: _beginning(property_) for name, property_ in properties.items() if name != _ASKED}
        case ElicitRequestURLParams() as page:
            if not page.url.startswith(_WEB):
                return False
            message = _words_of(page)
            fields = {}
    return _ask(context, server_name, message, fields, key, result.request_state)


def ask_to_open_pages(context: Context, server_name: str, error: MCPError) -> bool:
    """Ask the person to open the pages without which the server refuses the call; return False for another error."""
    if error.code != URL_ELICITATION_REQUIRED:
        return False
    try:
        pages = _Refusal.model_validate(error.data).elicitations
    except ValidationError:
        return False
    if not pages or not all(page.url.startswith(_WEB) for page in pages):
        return False
    return _ask(context, server_name, "\n".join(map(_words_of, pages)), {}, _REFUSAL, None)


def _answered_question(context: Context) -> _Question | None:
    """Return the question of the server that the person has answered; None for a new call."""
    payload = context.tool_confirmation.payload if context.tool_confirmation else None
    if not isinstance(payload, dict) or _ASKED not in payload:
        return None
    try:
        return _Question.model_validate(payload[_ASKED])
    except ValidationError:  # A program may answer anything: the server asks again.
        return None


def _ask(
    context: Context,
    server_name: str,
    message: str,
    fields: Mapping[str, Any],
    key: str,
    state: str | None,
) -> bool:
    if len(message) > MAX_MESSAGE_CHARACTERS or len(fields) > MAX_FIELDS:
        return False
    asked = _Question(key=key, fields=list(fields), state=state).model_dump()
    # The person must know that the words are not the site's.
    context.request_confirmation(hint=f"{server_name} asks: {message}", payload={**fields, _ASKED: asked})
    return True


def _words_of(page: ElicitRequestURLParams) -> str:
    return f"{page.message} {page.url}"


def _beginning(schema: Any) -> Any:
    """Return the value with which an input begins: the default, or an empty value of the type."""
    if not isinstance(schema, dict):
        return ""
    return schema.get("default", _EMPTY.get(str(schema.get("type")), ""))
