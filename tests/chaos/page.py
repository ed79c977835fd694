"""What a browser knows of its session: all that frames have told it, over however many connections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

OPEN = ("queued", "running")
ENDED = ("completed", "failed", "cancelled", "waiting")


@dataclass(frozen=True)
class Known:
    """An invocation, as it was last told of."""

    id: str
    status: str


@dataclass
class Page:
    """One browser tab's knowledge.

    Attributes:
        log: the events by their seq.
        invocations: by client id.
        jobs: the last that was told of each, by the id of the call that it answers.
        speaking: the invocations that text was streamed of.
        problems: what must not happen.
    """

    log: dict[int, dict[str, Any]] = field(default_factory=dict)
    invocations: dict[str, Known] = field(default_factory=dict)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    speaking: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    @property
    def seq(self) -> int:
        """The last event that it has."""
        return max(self.log, default=0)

    def take(self, frame: dict[str, Any]) -> None:
        """Learn from a frame of the server."""
        match frame["type"]:
            case "event":
                self._take_event(frame["seq"], frame["event"])
            case "invocation":
                self.invocations[frame.get("client_id", "")] = Known(frame["id"], frame["status"])
            case "partial":
                self.speaking.add(frame["invocation_id"])
            case "job":
                self.jobs[frame["call_id"]] = frame
            case "ready":
                self.jobs |= {job["call_id"]: job for job in frame["jobs"]}

    def status(self, client_id: str) -> str:
        """What became of a message, as far as is known."""
        known = self.invocations.get(client_id)
        return known.status if known else ""

    def calls(self, client_id: str) -> dict[str, str]:
        """The calls that the message's invocation made: names by ids."""
        known = self.invocations[client_id]
        own = [event for event in self.log.values() if event["invocationId"] == known.id]
        return {call["id"]: call["name"] for call in _parts(own, "functionCall")}

    def is_answered(self, call_id: str) -> bool:
        """Whether an answer from outside is in the log."""
        by_people = [event for event in self.log.values() if event["author"] == "user"]
        return any(response["id"] == call_id for response in _parts(by_people, "functionResponse"))

    def _take_event(self, seq: int, event: dict[str, Any]) -> None:
        if seq in self.log:
            if self.log[seq]["id"] != event["id"]:
                self.problems.append(f"two events have seq {seq}")
        elif seq != self.seq + 1:
            self.problems.append(f"event {seq} came after {self.seq}")
        self.log[seq] = event


def _parts(events: list[dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    for event in events:
        for part in event.get("content", {}).get("parts", []):
            if kind in part:
                yield part[kind]
