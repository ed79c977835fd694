"""Events of the log, and growing texts, as events of AG-UI: the state of one stream, without storage.

Text is sent while it grows. The committed event decides: if it begins with what was sent, only the rest follows;
otherwise the text is withdrawn. A withdrawn text is closed, and the next snapshot of the messages lacks it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ag_ui import core as ag_ui

from runtime.events.event import Event as RuntimeEvent
from runtime.events.node_info import is_at_or_below
from runtime.sessions.state import State
from runtime.tools.client_toolset import CLIENT_TOOLS
from sessions_app.contrib.ag_ui.messages import (
    arguments_text,
    person_text,
    reasoning_id,
    result_id,
    result_text,
    shown_calls,
    shown_responses,
    thoughts_of,
)
from sessions_app.contrib.ag_ui.place import OpenText, Place, TextId, text_id
from sessions_app.history.event_marks import writer_of
from sessions_app.live.streamed_text import TextChunk

CLIENT_CONTEXT = "client_context"
"""Key of the session's state with the `context` of the last run that had one."""
HIDDEN_KEYS = (State.APP_PREFIX, State.TEMP_PREFIX, CLIENT_TOOLS, CLIENT_CONTEXT)
"""Beginnings of the keys of the state that no client gets."""


class EventFrames:
    """Makes the events of AG-UI for one stream.

    Args:
        place: the place of the stream, which the texts change.
        roots: invocations whose messages and answers the client knows.

    Attributes:
        state_seq: event up to which the client has the changes of the state.
    """

    def __init__(self, place: Place, roots: frozenset[str]) -> None:
        self.place = place
        self.state_seq = 0
        self._roots = roots
        self._steps: dict[str, None] = {}
        self._long_running: set[str] = set()

    def of_text(self, chunk: TextChunk) -> Iterator[ag_ui.BaseEvent]:
        """Yield the events for a piece of a growing text."""
        key = text_id(chunk.stream)
        opened = self.place.texts.get(key)
        if opened is None:
            opened = OpenText(chunk.stream.lease_token)
            self.place.texts[key] = opened
            yield _opening(key, chunk.stream.author)
        unsent = opened.add(chunk.offset, chunk.text)
        if unsent:
            yield _content(key, unsent)

    def of_event(self, seq: int, event: RuntimeEvent) -> Iterator[ag_ui.BaseEvent]:
        """Yield the events for an event of the log. The texts that it changes must be withdrawn before."""
        self._long_running |= set(event.long_running_tool_ids or ())
        path = event.node_info.path if event.node_info else ""
        yield from self._begin_steps(path)
        if event.author == "user":
            if writer_of(event.invocation_id, event.custom_metadata) not in self._roots:
                yield from _whole_message(event.id, person_text(event.content))
        elif not event.actions.compaction:
            for key, whole in _texts_of(event):
                yield from self._text(key, whole, event.author)
            yield from _calls(event)
        yield from self._results(event)
        if event.node_info and event.node_info.has_ended:
            yield from self._end_steps(path)
        if seq > self.state_seq:
            yield from _state_delta(event.actions.state_delta)

    def withdraw(self, void: Iterable[TextId]) -> Iterator[ag_ui.BaseEvent]:
        """Yield the ends of open texts that the log will not have."""
        for key in void:
            del self.place.texts[key]
            self.place.is_stale = True
            yield _closing(key)

    def changed_texts(self, event: RuntimeEvent) -> set[TextId]:
        """Return the open texts of an event that it does not begin with."""
        changed = set()
        for key, whole in _texts_of(event):
            opened = self.place.texts.get(key)
            if opened is not None and opened.rest_of(whole) is None:
                changed.add(key)
        return changed

    def end_all_steps(self) -> Iterator[ag_ui.BaseEvent]:
        yield from self._end_steps("")

    def _text(self, key: TextId, whole: str, author: str) -> Iterator[ag_ui.BaseEvent]:
        opened = self.place.texts.pop(key, None)
        if opened is None and not whole:
            return
        rest: str | None = whole
        if opened is None:
            yield _opening(key, author)
        else:
            rest = opened.rest_of(whole)
        if rest:
            yield _content(key, rest)
        yield _closing(key)

    def _results(self, event: RuntimeEvent) -> Iterator[ag_ui.BaseEvent]:
        if event.author == "user" and writer_of(event.invocation_id, event.custom_metadata) in self._roots:
            return
        for response in shown_responses(event, self._long_running):
            yield ag_ui.ToolCallResultEvent(
                message_id=result_id(event, response),
                tool_call_id=response.id or "",
                content=result_text(response),
                role="tool",
            )

    def _begin_steps(self, path: str) -> Iterator[ag_ui.BaseEvent]:
        """Yield the beginnings of the runs of nodes on a path, from the workflow down."""
        segments = path.split("/") if path else []
        for depth in range(1, len(segments) + 1):
            step = "/".join(segments[:depth])
            if step not in self._steps:
                self._steps[step] = None
                yield ag_ui.StepStartedEvent(step_name=step)

    def _end_steps(self, path: str) -> Iterator[ag_ui.BaseEvent]:
        """Yield the ends of the steps at a path and below, the innermost first; of all for an empty path."""
        for step in reversed([*self._steps]):
            if not path or is_at_or_below(step, path):
                del self._steps[step]
                yield ag_ui.StepFinishedEvent(step_name=step)


def _texts_of(event: RuntimeEvent) -> Iterator[tuple[TextId, str]]:
    yield TextId(event.id, is_reasoning=True), thoughts_of(event)
    yield TextId(event.id, is_reasoning=False), event.text()


def visible_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state, or a change of it, without the keys that no client gets."""
    return {key: value for key, value in state.items() if not key.startswith(HIDDEN_KEYS)}


# One event each: between two, a client could not tell where it stands. So no REASONING_START is sent.
def _opening(key: TextId, author: str) -> ag_ui.BaseEvent:
    if key.is_reasoning:
        return ag_ui.ReasoningMessageStartEvent(message_id=reasoning_id(key.event_id), role="reasoning")
    return ag_ui.TextMessageStartEvent(message_id=key.event_id, role="assistant", name=author)


def _content(key: TextId, text: str) -> ag_ui.BaseEvent:
    if key.is_reasoning:
        return ag_ui.ReasoningMessageContentEvent(message_id=reasoning_id(key.event_id), delta=text)
    return ag_ui.TextMessageContentEvent(message_id=key.event_id, delta=text)


def _closing(key: TextId) -> ag_ui.BaseEvent:
    if key.is_reasoning:
        return ag_ui.ReasoningMessageEndEvent(message_id=reasoning_id(key.event_id))
    return ag_ui.TextMessageEndEvent(message_id=key.event_id)


def _whole_message(message_id: str, text: str) -> Iterator[ag_ui.BaseEvent]:
    if text:
        yield ag_ui.TextMessageStartEvent(message_id=message_id, role="user")
        yield ag_ui.TextMessageContentEvent(message_id=message_id, delta=text)
        yield ag_ui.TextMessageEndEvent(message_id=message_id)


def _calls(event: RuntimeEvent) -> Iterator[ag_ui.BaseEvent]:
    for call in shown_calls(event):
        call_id = call.id or ""
        yield ag_ui.ToolCallStartEvent(
            tool_call_id=call_id, tool_call_name=call.name or "", parent_message_id=event.id
        )
        yield ag_ui.ToolCallArgsEvent(tool_call_id=call_id, delta=arguments_text(call))
        yield ag_ui.ToolCallEndEvent(tool_call_id=call_id)


def _state_delta(delta: Mapping[str, Any]) -> Iterator[ag_ui.BaseEvent]:
    """Yield the change of the state as a JSON patch. `add` sets a value, whether there was one or not (RFC 6902)."""
    operations = [
        {"op": "add", "path": f"/{_pointer(key)}", "value": value}
        for key, value in visible_state(delta).items()
    ]
    if operations:
        yield ag_ui.StateDeltaEvent(delta=operations)


def _pointer(key: str) -> str:
    """Return a key as a segment of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
