"""What one event shows, as values that its template lays out in order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

from runtime import types
from runtime.events import Event
from runtime.events.calls import REQUEST_CONFIRMATION
from sessions_app.history.event_marks import task_in
from sessions_app.models import ToolJob

TRANSFER_TOOL = "transfer_to_agent"
LONGEST_RESULT = 4_000
LONGEST_VALUE = 200


@dataclass(frozen=True)
class Text:
    """What someone said; the agent's is markdown."""

    kind: ClassVar = "text"
    text: str


@dataclass(frozen=True)
class WakeUp:
    """A scheduled task whose time had come."""

    kind: ClassVar = "wake_up"
    task: str


@dataclass(frozen=True)
class Thought:
    """What the model thought before it answered, as markdown."""

    kind: ClassVar = "thought"
    text: str


@dataclass(frozen=True)
class Call:
    """A function call; `job` does its work when it is a long-running one that a worker took."""

    kind: ClassVar = "call"
    call_id: str
    name: str
    args: dict[str, str]
    is_long_running: bool
    job: ToolJob | None


@dataclass(frozen=True)
class Question:
    """A call that runs only if the person says yes (spec T7)."""

    kind: ClassVar = "question"
    call_id: str
    hint: str
    name: str
    args: dict[str, str]


@dataclass(frozen=True)
class Verdict:
    """What the person said to a question."""

    kind: ClassVar = "verdict"
    call_id: str
    is_yes: bool


@dataclass(frozen=True)
class Result:
    """A function response; `hidden` counts the characters that were left off."""

    kind: ClassVar = "result"
    call_id: str
    name: str
    text: str
    hidden: int
    has_failed: bool


@dataclass(frozen=True)
class Code:
    """Code that the model ran, or what it printed."""

    kind: ClassVar = "code"
    label: str
    text: str


@dataclass(frozen=True)
class File:
    """A file inside the message."""

    kind: ClassVar = "file"
    mime_type: str


Block = Text | WakeUp | Thought | Call | Question | Verdict | Result | Code | File


def blocks_of(event: Event, jobs: Mapping[str, ToolJob]) -> list[Block]:
    """The parts of the content in order, neighbouring texts joined; transfers are told by the actions instead."""
    task = task_in(event)
    if task is not None:
        return [WakeUp(task)]
    parts = (event.content.parts or []) if event.content else []
    blocks: list[Block] = []
    for kind, several in groupby(parts, _text_kind):
        if kind:
            blocks.append(kind("".join(part.text or "" for part in several)))
        else:
            blocks.extend(block for part in several for block in _blocks_of_part(part, event, jobs))
    return [block for block in blocks if not (isinstance(block, Text | Thought) and not block.text.strip())]


def readable(value: Any) -> str:
    """A JSON value for people: a text is shown as it is, keys in order: storage does not keep theirs."""
    return (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
    )


def one_line(value: Any) -> str:
    """A JSON value in one line that is not too long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _text_kind(part: types.Part) -> type[Text] | type[Thought] | None:
    if part.text is None:
        return None
    return Thought if part.thought else Text


def _blocks_of_part(part: types.Part, event: Event, jobs: Mapping[str, ToolJob]) -> Iterator[Block]:
    if part.function_call and part.function_call.name == REQUEST_CONFIRMATION:
        yield _question(part.function_call)
    elif part.function_call and part.function_call.name != TRANSFER_TOOL:
        yield _call(part.function_call, event, jobs)
    if part.function_response and part.function_response.name == REQUEST_CONFIRMATION:
        is_yes = bool((part.function_response.response or {}).get("confirmed"))
        yield Verdict(part.function_response.id or "", is_yes)
    elif part.function_response and not _says_nothing(part.function_response, event):
        yield _result(part.function_response)
    if part.executable_code:
        yield Code("Code", part.executable_code.code or "")
    if part.code_execution_result:
        yield Code("Output", part.code_execution_result.output or "")
    if part.inline_data:
        yield File(part.inline_data.mime_type or "unknown type")
    if part.file_data:
        yield File(part.file_data.mime_type or "unknown type")


def _says_nothing(response: types.FunctionResponse, event: Event) -> bool:
    """A transfer is told by the actions; that a call waits for a yes, by the question that follows."""
    if response.name == TRANSFER_TOOL and event.actions.transfer_to_agent:
        return True
    return response.id in event.actions.requested_tool_confirmations


def _call(call: types.FunctionCall, event: Event, jobs: Mapping[str, ToolJob]) -> Call:
    call_id = call.id or ""
    return Call(
        call_id=call_id,
        name=call.name or "",
        args=_readable_args(call.args),
        is_long_running=call_id in (event.long_running_tool_ids or ()),
        job=jobs.get(call_id),
    )


def _question(call: types.FunctionCall) -> Question:
    asked = call.args or {}
    original = asked.get("originalFunctionCall") or {}
    hint = (asked.get("toolConfirmation") or {}).get("hint") or ""
    return Question(call.id or "", hint, original.get("name") or "", _readable_args(original.get("args")))


def _readable_args(args: Mapping[str, Any] | None) -> dict[str, str]:
    return {name: readable(value) for name, value in sorted((args or {}).items())}


def _result(response: types.FunctionResponse) -> Result:
    content = response.response or {}
    text = readable(content["result"] if content.keys() == {"result"} else content)
    return Result(
        call_id=response.id or "",
        name=response.name or "",
        text=text[:LONGEST_RESULT],
        hidden=max(0, len(text) - LONGEST_RESULT),
        has_failed=bool(content.get("error")) or content.get("status") in ("error", "failed"),
    )
