"""The page's state: everything that the frames of all connections have contained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from runtime.events import Event
from runtime.events.calls import REQUEST_INPUT, made_calls
from runtime.events.rewound import drop_rewound, effective_path_of

ACTIVE = ("queued", "running")
ENDED = ("completed", "failed", "cancelled", "waiting")


@dataclass(frozen=True)
class KnownInvocation:
    """An invocation according to its last frame."""

    id: str
    status: str


@dataclass
class Page:
    """State of one browser tab.

    Attributes:
        log: Events by sequence.
        invocations: Invocations by client id.
        jobs: Last frame of each job by call id.
        streamed_invocations: Ids of the invocations with partial events.
        updated: Ids of the invocations with news since the last `ready` frame; a reply may be older than these.
        problems: Violations of the protocol.
    """

    log: dict[int, dict[str, Any]] = field(default_factory=dict)
    invocations: dict[str, KnownInvocation] = field(default_factory=dict)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    streamed_invocations: set[str] = field(default_factory=set)
    updated: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    @property
    def seq(self) -> int:
        """Sequence of the last event."""
        return max(self.log, default=0)

    def handle(self, frame: dict[str, Any]) -> None:
        """Update the state from a frame of the server."""
        match frame["type"]:
            case "event":
                self._add_event(frame["seq"], frame["event"])
            case "invocation":
                self._update_invocation(frame)
            case "partial":
                self.streamed_invocations.add(frame["invocation_id"])
            case "job":
                self.jobs[frame["call_id"]] = frame
            case "ready":
                self.updated = set()
                self.jobs |= {job["call_id"]: job for job in frame["jobs"]}

    def status(self, client_id: str) -> str:
        """Return the last known status of the message's invocation; empty when the server has sent none."""
        invocation = self.invocations.get(client_id)
        return invocation.status if invocation else ""

    def calls(self, client_id: str) -> dict[str, str]:
        """Return the names of the calls of the message's invocation by call id."""
        invocation = self.invocations[client_id]
        own = [event for event in self.log.values() if event["invocationId"] == invocation.id]
        return {call["id"]: call["name"] for call in parts(own, "functionCall")}

    def job(self, client_id: str) -> dict[str, Any] | None:
        """Return the last frame of the job that the message's invocation has started; None without a job."""
        calls = self.calls(client_id)
        return next((self.jobs[call_id] for call_id in calls if call_id in self.jobs), None)

    def count_answers(self, call_id: str) -> int:
        """Return the number of function responses from outside for the call, in all versions."""
        by_people = [event for event in self.log.values() if event["author"] == "user"]
        return sum(response["id"] == call_id for response in parts(by_people, "functionResponse"))

    def open_questions(self) -> dict[str, str]:
        """Return the ids of the workflows' questions that wait, and of their invocations."""
        events = [Event.model_validate(self.log[key]) for key in sorted(self.log)]
        pending = [made for made in made_calls(drop_rewound(events)) if made.is_pending]
        questions = [made for made in pending if made.call.name == REQUEST_INPUT]
        return {made.call.id or "": made.event.invocation_id for made in questions}

    def message_seq(self, invocation_id: str) -> int:
        """Return the sequence of the invocation's first event."""
        return min(seq for seq, event in self.log.items() if event["invocationId"] == invocation_id)

    def is_effective(self, seq: int) -> bool:
        """True if no rewind keeps the event from being in effect."""
        return seq - 1 in effective_path_of([Event.model_validate(self.log[key]) for key in sorted(self.log)])

    def _update_invocation(self, frame: dict[str, Any]) -> None:
        if frame.get("is_reply") and frame["id"] in self.updated:
            return
        self.updated.add(frame["id"])
        self.invocations[frame.get("client_id", "")] = KnownInvocation(frame["id"], frame["status"])

    def _add_event(self, seq: int, event: dict[str, Any]) -> None:
        if seq in self.log:
            if self.log[seq]["id"] != event["id"]:
                self.problems.append(f"two events have seq {seq}")
        elif seq != self.seq + 1:
            self.problems.append(f"event {seq} came after {self.seq}")
        self.log[seq] = event


def parts(events: list[dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    """Yield the parts of a kind, such as `functionCall`, of encoded events."""
    for event in events:
        for part in event.get("content", {}).get("parts", []):
            if kind in part:
                yield part[kind]
