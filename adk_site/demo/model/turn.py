"""What a request asks: the person's words, the tools and agents at hand, and what has happened since."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runtime import types
from runtime.models import LlmRequest
from sessions_app.history.event_marks import IT_IS_TIME

ASKING = "For that I need"
TRANSFER = "transfer_to_agent"
_SHORT_ANSWER = 5
_CONTEXT = "For context:"
_DESCRIBED = re.compile(r"^- (\w+): (.+)$", re.MULTILINE)
_PERSON = re.compile(r"\bperson is called (\w[\w' -]*)")


@dataclass(frozen=True)
class Turn:
    """One request, read.

    Attributes:
        words: what the person said last; with what was said before, when it answers a question of ours.
        responses: function responses that nobody has commented on yet.
        functions: the declared functions, without the transfer.
        agents: who can take over: name and description. Empty when this message was handed over already.
        person: the name of the person, as the instruction tells it.
        is_due: whether the words are those of a scheduled task whose time has come.
    """

    words: str
    responses: tuple[types.FunctionResponse, ...]
    functions: tuple[types.FunctionDeclaration, ...]
    agents: dict[str, str]
    person: str
    is_due: bool = False


def read_turn(request: LlmRequest) -> Turn:
    """Read a request."""
    declared = _declared(request.config)
    instruction = _text_of(request.config.system_instruction)
    last = request.contents[-1] if request.contents else types.Content()
    responses = [part.function_response for part in last.parts or [] if part.function_response]
    person = _PERSON.search(instruction)
    words = _words(request.contents)
    return Turn(
        words=words.removeprefix(IT_IS_TIME).strip(),
        responses=tuple(responses),
        functions=tuple(function for name, function in declared.items() if name != TRANSFER),
        agents={} if _was_handed_over(request.contents) else _agents(declared.get(TRANSFER), instruction),
        person=person[1].strip() if person else "",
        is_due=words.startswith(IT_IS_TIME),
    )


def _declared(config: types.GenerateContentConfig) -> dict[str, types.FunctionDeclaration]:
    tools = [tool for tool in config.tools or [] if isinstance(tool, types.Tool)]
    functions = [function for tool in tools for function in tool.function_declarations or []]
    return {function.name: function for function in functions if function.name}


def _agents(transfer: types.FunctionDeclaration | None, instruction: str) -> dict[str, str]:
    """The names that the transfer takes, with the descriptions that the instruction lists."""
    properties = (transfer.parameters.properties or {}) if transfer and transfer.parameters else {}
    names = (properties["agent_name"].enum or []) if "agent_name" in properties else []
    described = dict(_DESCRIBED.findall(instruction))
    return {name: described.get(name, "") for name in names}


def _words(contents: list[types.Content]) -> str:
    said = [index for index, content in enumerate(contents) if _is_said_by_person(content)]
    if not said:
        return ""
    words = _text_of(contents[said[-1]])
    if len(said) > 1 and len(words.split()) <= _SHORT_ANSWER and _asks(contents[said[-2] : said[-1]]):
        return f"{_text_of(contents[said[-2]])} {words}"
    return words


def _asks(contents: list[types.Content]) -> bool:
    return any(content.role == "model" and _text_of(content).startswith(ASKING) for content in contents)


def _is_said_by_person(content: types.Content) -> bool:
    return content.role == "user" and bool(_text_of(content)) and not _is_context(content)


def _is_context(content: types.Content) -> bool:
    """Whether it tells what another agent did."""
    return _text_of(content).startswith(_CONTEXT)


def _was_handed_over(contents: list[types.Content]) -> bool:
    """Whether another agent handed the person's last words to this one. One hand-over a message is enough."""
    for content in reversed(contents):
        if _is_said_by_person(content):
            return False
        if _is_context(content) and f"`{TRANSFER}`" in _text_of(content):
            return True
    return False


def _text_of(given: types.ContentUnion | types.ContentUnionDict | None) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, types.Content):
        return " ".join(part.text for part in given.parts or [] if part.text and not part.thought)
    return ""
