"""Questions of a server about a call (elicitation, sampling) as questions to the person, which wait like confirmations.

The server answers the call with what it needs, in place of a result. The call then waits (contract T7) with the
server's message, and inputs for the fields that it asks for. The answer runs the call again in any process, also days
later, and the server continues by its own `request_state`, which the question keeps.

A server may also want the person to open a page of its own (URL mode). One of protocol 2025-11-25 then refuses the call
with an error that names the page, and takes the same call later.

A server that wants a model's answer (sampling) gets it once the person has agreed to the texts that the model reads.
"""

from collections.abc import Mapping
from typing import Any

from mcp import MCPError
from mcp.types import (
    URL_ELICITATION_REQUIRED,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
)
from pydantic import BaseModel, ValidationError

from runtime.context import Context
from runtime.tools.mcp_tool.sampling import answer_of_model, prompt_of

PENDING = {"status": "The server asks the user something. The call goes on with the answer."}
MAX_MESSAGE_CHARACTERS = 4_000
MAX_FIELDS = 30
NOT_OPENED = "The user did not open the page that the server asks for."
NOT_ALLOWED = "The user did not let the server ask the model."
_ASKED = "adk_mcp_question"
_REFUSAL = ""
"""Key of a question that the server has asked by refusing the call: the answer is not sent to it."""
_NO_FIELDS: Mapping[str, Any] = {}
_WEB = ("https://", "http://")
_EMPTY: Mapping[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}


class _Question(BaseModel):
    """Data that the answer needs: the server's key of the question, its fields or texts, and the server's state."""

    key: str
    fields: list[str] = []
    state: str | None = None
    sample: CreateMessageRequestParams | None = None


class _Refusal(BaseModel):
    """Data of the error of a server that wants pages to be opened before it takes the call."""

    elicitations: list[ElicitRequestURLParams]


async def cancel_question(context: Any, params: Any) -> ElicitResult:
    """Cancel a question of the older protocol, which a server asks within a running call: the call cannot wait."""
    return ElicitResult(action="cancel")


async def given_answers(context: Context) -> tuple[InputResponses | None, str | None]:
    """Return the answers for the server, and the state from which it continues; None for a new call.

    Raises:
        ModelError: the model, which the person lets the server ask, failed.
        LlmCallsLimitExceededError: the invocation has asked models too often.
    """
    confirmation = context.tool_confirmation
    asked = _answered_question(context)
    if confirmation is None or asked is None or asked.key == _REFUSAL:
        return None, None
    if asked.sample:
        sample = await answer_of_model(context, asked.sample)
        if sample is None:
            return None, None
        return {asked.key: sample}, asked.state
    fields: dict[str, Any] = {}
    if isinstance(confirmation.payload, dict):
        for name in asked.fields:
            if name in confirmation.payload:
                fields[name] = confirmation.payload[name]
    answer = ElicitResult(action="decline")
    if confirmation.confirmed:
        try:
            answer = ElicitResult(action="accept", content=fields or None)
        except ValidationError:  # A program may answer anything: the server asks again.
            return None, None
    return {asked.key: answer}, asked.state


def why_declined(context: Context) -> str | None:
    """Return why the call cannot continue: the person declined what it needs, and the server cannot be told."""
    asked = _answered_question(context)
    confirmation = context.tool_confirmation
    if asked is None or (confirmation and confirmation.confirmed):
        return None
    if asked.sample:
        return NOT_ALLOWED
    if asked.key == _REFUSAL:
        return NOT_OPENED
    return None


def ask_person(context: Context, server_name: str, result: InputRequiredResult) -> bool:
    """Ask the person what the server needs; return False if it is not one question to a person that fits in a form."""
    requests = list((result.input_requests or {}).items())
    if len(requests) != 1:
        return False
    key, request = requests[0]
    state = result.request_state
    match request:
        case ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema)):
            properties = schema.get("properties")
            if not isinstance(properties, dict):
                properties = {}
            fields: dict[str, Any] = {}
            for name, property_ in properties.items():
                if name != _ASKED:
                    fields[name] = _beginning(property_)
            form = _Question(key=key, fields=list(fields), state=state)
            return _ask(context, _attribute(server_name, message), form, fields)
        case ElicitRequest(params=ElicitRequestURLParams() as page):
            if not page.url.startswith(_WEB):
                return False
            text = _attribute(server_name, _text_with_address(page))
            return _ask(context, text, _Question(key=key, state=state))
        case CreateMessageRequest(params=sample):
            prompt = prompt_of(context, sample)
            if prompt is None:
                return False
            text = f"{server_name} wants the answer of the agent's model to this text:\n{prompt}"
            return _ask(context, text, _Question(key=key, state=state, sample=sample))
    return False


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
    text = "\n".join(map(_text_with_address, pages))
    return _ask(context, _attribute(server_name, text), _Question(key=_REFUSAL))


def _answered_question(context: Context) -> _Question | None:
    """Return the question of the server that the person has answered; None for a new call.

    As it was asked: many answers, above all a no, have no payload, and none may change the question.
    """
    payload = context.asked_payload
    if not isinstance(payload, dict) or _ASKED not in payload:
        return None
    try:
        return _Question.model_validate(payload[_ASKED])
    except ValidationError:  # A log may be imported: the server asks again.
        return None


def _ask(context: Context, text: str, asked: _Question, fields: Mapping[str, Any] = _NO_FIELDS) -> bool:
    if len(text) > MAX_MESSAGE_CHARACTERS or len(fields) > MAX_FIELDS:
        return False
    kept = asked.model_dump(mode="json", by_alias=True, exclude_none=True)
    context.request_confirmation(hint=text, payload={**fields, _ASKED: kept})
    return True


def _attribute(server_name: str, message: str) -> str:
    # The person must know that the text is not the site's.
    return f"{server_name} asks: {message}"


def _text_with_address(page: ElicitRequestURLParams) -> str:
    return f"{page.message} {page.url}"


def _beginning(schema: Any) -> Any:
    """Return the value with which an input begins: the default, or an empty value of the type."""
    if not isinstance(schema, dict):
        return ""
    return schema.get("default", _EMPTY.get(str(schema.get("type")), ""))
