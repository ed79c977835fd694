"""A client that keeps what the events of AG-UI say, and accepts no event out of order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class StrictClient:
    """Messages as (role, text or call), in the order in which they came; `end` is the last event."""

    messages: dict[str, tuple[str, str]] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    end: dict[str, Any] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)
    _has_begun: bool = False

    @property
    def texts(self) -> list[tuple[str, str]]:
        return list(self.messages.values())

    def read(self, events: list[dict[str, Any]]) -> StrictClient:
        for event in events:
            kind = event["type"]
            assert not self.end, f"{kind} after the end"
            assert self._has_begun == (kind != "RUN_STARTED"), f"{kind} at the wrong place"
            self._has_begun = True
            # Texts, thoughts and calls begin, grow and end alike.
            phase = kind.rpartition("_")[2] if kind.startswith(("TEXT", "REASONING", "TOOL_CALL")) else kind
            getattr(self, f"_{phase.lower()}")(event)
        return self

    def _run_started(self, event: dict[str, Any]) -> None:
        pass

    def _messages_snapshot(self, event: dict[str, Any]) -> None:
        assert not self._open
        self.messages = {}
        for message in event["messages"]:
            if message.get("content"):
                self._add(message["id"], message["role"], message["content"])
            for call in message.get("toolCalls", ()):
                self._add(call["id"], "call", call["function"]["name"] + call["function"]["arguments"])

    def _state_snapshot(self, event: dict[str, Any]) -> None:
        self.state = dict(event["snapshot"])

    def _state_delta(self, event: dict[str, Any]) -> None:
        for operation in event["delta"]:
            assert operation["op"] == "add"
            self.state[operation["path"].removeprefix("/").replace("~1", "/")] = operation["value"]

    def _start(self, event: dict[str, Any]) -> None:
        self._open.add(_id_of(event))
        self._add(_id_of(event), event.get("role", "call"), event.get("toolCallName", ""))

    def _content(self, event: dict[str, Any]) -> None:
        assert _id_of(event) in self._open
        role, text = self.messages[_id_of(event)]
        self.messages[_id_of(event)] = (role, text + event["delta"])

    _args = _content

    def _end(self, event: dict[str, Any]) -> None:
        self._open.remove(_id_of(event))

    def _result(self, event: dict[str, Any]) -> None:
        self._add(event["messageId"], "tool", event["content"])

    def _step_started(self, event: dict[str, Any]) -> None:
        assert event["stepName"] not in self.steps
        self.steps.append(event["stepName"])

    def _step_finished(self, event: dict[str, Any]) -> None:
        self.steps.remove(event["stepName"])

    def _run_finished(self, event: dict[str, Any]) -> None:
        assert not self._open and not self.steps
        self.end = event

    def _run_error(self, event: dict[str, Any]) -> None:
        self.end = event

    def _add(self, message_id: str, role: str, text: str) -> None:
        assert message_id not in self.messages
        self.messages[message_id] = (role, text)


def _id_of(event: dict[str, Any]) -> str:
    found: str = event.get("messageId") or event["toolCallId"]
    return found
