"""The log of an invocation: its events, their calls, and the runs of nodes.

A workflow keeps nothing else: after a crash its place follows from the committed events alone. The events are read
once, as they are committed.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.events.calls import REQUEST_INPUT, MadeCall, MadeCalls, events_of_invocation
from runtime.events.event import Event
from runtime.events.node_info import NodeInfo, is_at_or_below


@dataclass(slots=True)
class RunRecord:
    """One run of a node, as its events tell it.

    Attributes:
        has_begun: True if the run, or a run below it, has an event.
        has_ended: True if the run is complete and must not run again.
        output: output of the complete run; None without one.
        route: route that the run chose; None without one.
        said: the events of the run with a content, oldest first.
        failed_attempts: number of attempts that have failed.
        retry_at: time of the next attempt after a failure (seconds since the epoch).
        calls: the function calls of the run, oldest first, also its questions to the person.
    """

    has_begun: bool = False
    has_ended: bool = False
    output: Any = None
    route: Any = None
    said: list[Event] = field(default_factory=list)
    failed_attempts: int = 0
    retry_at: float = 0.0
    calls: list[MadeCall] = field(default_factory=list)

    @property
    def message(self) -> str:
        """Text of the latest message of the run; empty without one."""
        for event in reversed(self.said):
            text = event.text()
            if text and not event.get_function_calls():
                return text
        return ""

    @property
    def questions(self) -> list[MadeCall]:
        """The questions that the node itself has asked the person, oldest first."""
        return [made for made in self.calls if made.call.name == REQUEST_INPUT and made.is_long_running]

    @property
    def answers(self) -> dict[str, Any]:
        """The answers to the node's questions, by the question's id."""
        return {made.call.id or "": made.latest_answer() for made in self.questions if not made.waits}


class InvocationLog:
    """Events of an invocation, with their calls and with the records of runs of nodes, by path.

    Attributes:
        events: the events of the invocation.
        made: their function calls.
    """

    def __init__(self, invocation_id: str, begins_at: int) -> None:
        self._invocation_id = invocation_id
        self._position = begins_at
        self._records: defaultdict[str, RunRecord] = defaultdict(RunRecord)
        self._ended_below: defaultdict[str, list[str]] = defaultdict(list)
        self.events: list[Event] = []
        self.made = MadeCalls()

    def read(self, events: Sequence[Event]) -> None:
        """Read the session's events that were committed since the last call."""
        if len(events) == self._position:
            return
        new = events_of_invocation(events[self._position :], self._invocation_id)
        self._position = len(events)
        known_calls = len(self.made.in_order)
        self.events += new
        self.made.add(new)
        for event in new:
            if event.node_info is not None and event.node_info.path:
                self._note_progress(event, event.node_info)
        for made in self.made.in_order[known_calls:]:
            self._records[node_path_of(made.event)].calls.append(made)

    def run(self, path: str) -> RunRecord:
        """Return the record of the run at `path`. It is live: `read` changes it as later events are read."""
        return self._records[path]

    def ended_below(self, path: str) -> Sequence[str]:
        """Return the paths of the complete runs directly below `path`, in the order of their ends."""
        # No `[path]`: it would add an entry for each path that somebody asks for.
        return self._ended_below.get(path, ())

    def pending_calls(self, path: str) -> list[MadeCall]:
        """Return the long-running calls of the run, and of the runs below, that wait for their answers."""
        return [made for made in self.made.pending() if is_at_or_below(node_path_of(made.event), path)]

    def _note_begin(self, path: str) -> None:
        """Note that the run at `path` and the runs above it have begun."""
        while path and not self._records[path].has_begun:
            self._records[path].has_begun = True
            path = path.rpartition("/")[0]

    def _note_progress(self, event: Event, info: NodeInfo) -> None:
        path = info.path
        record = self._records[path]
        if not record.has_begun:
            self._note_begin(path)
        # The text is read when it is asked for: a resume notes all events of the invocation.
        if event.content is not None:
            record.said.append(event)
        if info.failed_attempts is not None:
            record.failed_attempts = info.failed_attempts
            record.retry_at = info.retry_at or 0.0
        if info.has_ended:
            record.has_ended = True
            record.output = event.output
            if info.message_as_output:
                record.output = record.message
            record.route = event.actions.route
            self._ended_below[path.rpartition("/")[0]].append(path)


def node_path_of(event: Event) -> str:
    """Return the path of the run that an event belongs to; empty for none."""
    if event.node_info is None:
        return ""
    return event.node_info.path
