"""Timeline of a session's page: entries of calls with their answers, in groups by invocation.

Of the events 3 (a call), 4 (asks to confirm the call), 5 (the person confirms), 6 (the result) and 7 (a text), the
timeline has two entries: 3 with the answers 4, 5 and 6, and 7.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from sessions_app.admin.session.timeline.calls import call_ids_in_json, confirmation_requests, parts_in_json
from sessions_app.admin.session.timeline.event_rows import Row
from sessions_app.admin.session.timeline.totals import InvocationView
from sessions_app.models import Event


@dataclass
class TimelineEntry:
    """An event of the page, with the later events that only answer its calls.

    Attributes:
        row: None for an event of an unexpected shape.
        answers: questions to the person about the calls, the person's answers, and the results.
    """

    event: Event
    row: Row | None
    answers: "list[TimelineEntry]" = field(default_factory=list)

    @property
    def whole(self) -> "list[TimelineEntry]":
        """The entry itself and its answers."""
        return [self, *self.answers]

    @property
    def rows(self) -> list[Row]:
        """The rows of these events, without events of an unexpected shape."""
        return [entry.row for entry in self.whole if entry.row]

    @property
    def changed_keys(self) -> list[str]:
        """Keys in the state deltas of the events."""
        return [key for row in self.rows for key in row.changed_keys]

    @property
    def files(self) -> int:
        """Number of files saved by the events."""
        return sum(len(row.artifacts) for row in self.rows)

    @property
    def is_failed(self) -> bool:
        """True if one of the events is an error or has the response of a failed tool."""
        return any(row.is_failed for row in self.rows)


@dataclass(frozen=True)
class InvocationGroup:
    """Consecutive entries of an invocation.

    Attributes:
        view: the invocation; None when there is no such row.
        is_continued: True if entries of the invocation stand above, on this or an earlier page.
    """

    invocation_id: str
    view: InvocationView | None
    entries: Sequence[TimelineEntry]
    is_continued: bool

    @property
    def message(self) -> str:
        """Beginning of the person's message; empty for a group without such a message at its beginning."""
        first = self.entries[0]
        if first.row is None or first.event.author != "user":
            return ""
        return first.row.summary

    @property
    def has_nodes(self) -> bool:
        """True if an event is of a node of a workflow."""
        for entry in self.entries:
            for row in entry.rows:
                # The events of a task that an agent works on for another have a scope; a task is no workflow.
                if row.body.get("nodeInfo") and not row.body.get("isolationScope"):
                    return True
        return False


def group_by_invocation(
    entries: Sequence[TimelineEntry], views: dict[str, InvocationView]
) -> list[InvocationGroup]:
    """Return the entries of a page in groups of consecutive entries of an invocation, in order."""
    groups: list[InvocationGroup] = []
    if not entries:
        return groups
    top = entries[0].event.seq
    seen = {name for name, view in views.items() if view.totals.first_seq and view.totals.first_seq < top}
    for invocation_id, group in groupby(entries, lambda entry: entry.event.invocation_id or ""):
        is_continued = invocation_id in seen
        groups.append(InvocationGroup(invocation_id, views.get(invocation_id), list(group), is_continued))
        seen.add(invocation_id)
    return groups


def gather_answers(entries: Iterable[TimelineEntry]) -> list[TimelineEntry]:
    """Move each event that only answers calls of one earlier entry to that entry; return the entries that remain."""
    remaining: list[TimelineEntry] = []
    callers: dict[str, TimelineEntry] = {}
    for entry in entries:
        body: Mapping[str, Any] = {}
        answered_in_large: frozenset[str] = frozenset()
        if entry.row:
            body = entry.row.body
            answered_in_large = entry.row.answered
        caller = _find_only_caller(body, answered_in_large, callers)
        if caller is None:
            caller = entry
            remaining.append(entry)
        else:
            caller.answers.append(entry)
        # A request to confirm is a call, too: its answer goes to the entry of the call in question.
        callers |= dict.fromkeys(call_ids_in_json(body, "functionCall"), caller)
    return remaining


def _find_only_caller(
    body: Mapping[str, Any], answered_in_large: frozenset[str], callers: Mapping[str, TimelineEntry]
) -> TimelineEntry | None:
    """Return the entry whose calls the event answers; None if the event does more than that.

    Args:
        answered_in_large: ids of the answered calls if the event is too large for the page.
        callers: entries of earlier calls, by the id of the call.
    """
    responses = call_ids_in_json(body, "functionResponse")
    requests = confirmation_requests(body)
    answered = {*responses, *requests.values(), *answered_in_large}
    found = {id(callers[call_id]): callers[call_id] for call_id in answered if call_id in callers}
    # An event with a text, or with answers to calls of two entries, keeps its own line: nothing is hidden.
    if len(found) != 1 or not answered <= callers.keys():
        return None
    if not answered_in_large and len(parts_in_json(body)) != len(responses) + len(requests):
        return None
    (caller,) = found.values()
    return caller
