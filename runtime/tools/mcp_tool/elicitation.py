"""Questions of a server about a call (elicitation) as questions to the person, which wait like confirmations.

The server answers the call with what it needs, in place of a result. The call then waits (contract T7) with the
server's message, and inputs for the fields that it asks for. The answer runs the call again in any process, also days
later, and the server continues by its own `request_state`, which the question keeps.
"""

from collections.abc import Mapping
from typing import Any

from mcp.types import (
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
_ASKED = "adk_mcp_question"
_EMPTY: Mapping[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}


class _Question(BaseModel):
    """Data that the answer needs: the server's key of the question, its fields, and the server's state."""

    key: str
    fields: list[str]
    state: str | None


async def cancel_question(context: Any, params: Any) -> ElicitResult:
    """Cancel a question of the older protocol, which a server asks within a running call: the call cannot wait."""
    return ElicitResult(action="cancel")


def given_answers(context: Context) -> tuple[InputResponses | None, str | None]:
    """Return the person's answers for the server, and the state from which it continues; None for a new call."""
    confirmation = context.tool_confirmation
    payload = confirmation.payload if confirmation else None
    if confirmation is None or not isinstance(payload, dict) or _ASKED not in payload:
        return None, None
    try:
        asked = _Question.model_validate(payload[_ASKED])
        fields = {name: payload[name] for name in asked.fields if name in payload}
        answer = ElicitResult(action="decline")
        if confirmation.confirmed:
            answer = ElicitResult(action="accept", content=fields or None)
    except ValidationError:  # A program may answer anything: the server asks again.
        return None, None
    return {asked.key: answer}, asked.state


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
        case ElicitRequestURLParams(message=text, url=url):
            message = f"{text} {url}"
            fields = {}
    if len(message) > MAX_MESSAGE_CHARACTERS or len(fields) > MAX_FIELDS:
        return False
    asked = _Question(key=key, fields=list(fields), state=result.request_state).model_dump()
    # The person must know that the words are not the site's.
    context.request_confirmation(hint=f"{server_name} asks: {message}", payload={**fields, _ASKED: asked})
    return True


def _beginning(schema: Any) -> Any:
    """Return the value with which an input begins: the default, or an empty value of the type."""
    if not isinstance(schema, dict):
        return ""
    return schema.get("default", _EMPTY.get(str(schema.get("type")), ""))
