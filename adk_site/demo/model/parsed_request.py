"""Parse a model request: the person's words, the functions and agents on offer, and the function responses so far."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runtime import types
from runtime.events.quotation import is_quotation
from runtime.models import LlmRequest
from sessions_app.history.event_marks import IT_IS_TIME

QUESTION_PREFIX = "For that I need"
"""The first words of the model's question for a missing argument."""
TRANSFER = "transfer_to_agent"
_MAX_ANSWER_WORDS = 5
_FILE_TEXTS = ("The file '", "[The file '")
"""The first words of the texts that a request has for the files of a message."""
_AGENT_LINE = re.compile(r"^- (\w+): (.+)$", re.MULTILINE)
_PERSON = re.compile(r"\bperson is called (\w[\w' -]*)")


@dataclass(frozen=True)
class ParsedRequest:
    """One model request.

    Attributes:
        words: The person's last message; preceded by the message before it when it answers the model's question.
        responses: Function responses that no model answer follows.
        functions: The declared functions, without the transfer function.
        agents: Names and descriptions of the agents to transfer to; empty when this message was transferred already.
        person: The person's name, taken from the instruction; empty when the instruction does not give it.
        is_due: True when the words are those of a scheduled task that is due.
    """

    words: str
    responses: tuple[types.FunctionResponse, ...]
    functions: tuple[types.FunctionDeclaration, ...]
    agents: dict[str, str]
    person: str
    is_due: bool = False


def parse_request(request: LlmRequest) -> ParsedRequest:
    """Extract from the request everything that the demo model's choice depends on."""
    declared = _declared_functions(request.config)
    instruction = _text_of(request.config.system_instruction)
    last = request.contents[-1] if request.contents else types.Content()
    responses = [part.function_response for part in last.parts or [] if part.function_response]
    person = _PERSON.search(instruction)
    words = _last_words(request.contents)
    was_transferred = _was_transferred(request.contents)
    return ParsedRequest(
        words=words.removeprefix(IT_IS_TIME).strip(),
        responses=tuple(responses),
        functions=tuple(function for name, function in declared.items() if name != TRANSFER),
        agents={} if was_transferred else _transfer_targets(declared.get(TRANSFER), instruction),
        person=person[1].strip() if person else "",
        is_due=words.startswith(IT_IS_TIME),
    )


def _declared_functions(config: types.GenerateContentConfig) -> dict[str, types.FunctionDeclaration]:
    tools = [tool for tool in config.tools or [] if isinstance(tool, types.Tool)]
    functions = [function for tool in tools for function in tool.function_declarations or []]
    return {function.name: function for function in functions if function.name}


def _transfer_targets(transfer: types.FunctionDeclaration | None, instruction: str) -> dict[str, str]:
    """Return the agent names that the transfer function accepts, with their descriptions in the instruction."""
    properties = (transfer.parameters.properties or {}) if transfer and transfer.parameters else {}
    names = (properties["agent_name"].enum or []) if "agent_name" in properties else []
    descriptions = dict(_AGENT_LINE.findall(instruction))
    return {name: descriptions.get(name, "") for name in names}


def _last_words(contents: list[types.Content]) -> str:
    messages = [index for index, content in enumerate(contents) if _is_message(content)]
    if not messages:
        return ""
    words = _words_of(contents[messages[-1]])
    is_short = len(words.split()) <= _MAX_ANSWER_WORDS
    if len(messages) > 1 and is_short and _has_question(contents[messages[-2] : messages[-1]]):
        return f"{_words_of(contents[messages[-2]])} {words}"
    return words


def _has_question(contents: list[types.Content]) -> bool:
    return any(
        content.role == "model" and _text_of(content).startswith(QUESTION_PREFIX) for content in contents
    )


def _is_message(content: types.Content) -> bool:
    """True when the person wrote the content."""
    return content.role == "user" and bool(_text_of(content)) and not is_quotation(content)


def _was_transferred(contents: list[types.Content]) -> bool:
    """True when another agent transferred the person's last message to this one."""
    for content in reversed(contents):
        if _is_message(content):
            return False
        if is_quotation(content) and f"`{TRANSFER}`" in _text_of(content):
            return True
    return False


def _words_of(message: types.Content) -> str:
    """Return the text of a message without those of its files, which follow."""
    first, *others = [part.text for part in message.parts or [] if part.text]
    return " ".join([first, *(text for text in others if not text.startswith(_FILE_TEXTS))])


def _text_of(source: types.ContentUnion | types.ContentUnionDict | None) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, types.Content):
        return " ".join(part.text for part in source.parts or [] if part.text and not part.thought)
    return ""
