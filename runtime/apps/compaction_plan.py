"""When to sum up, and what: pure decisions on events (spec R4).

Calls stay together with their responses, invocations are not cut in two, and what still waits for an answer is left
alone with all that came after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runtime.apps.app import EventsCompactionConfig
from runtime.events.calls import call_ids, pending_calls, response_ids
from runtime.events.event import Event
from runtime.events.event_actions import EventActions
from runtime.events.rewound import index_of_invocation
from runtime.events.summaries import latest_full_summary, summarized_range, without_superseded


@dataclass(frozen=True)
class Plan:
    """What the next summary is to stand for, beside what the previous one does.

    Attributes:
        events: those that no summary stands for yet; not empty.
    """

    previous: Event | None
    events: list[Event]

    @property
    def start(self) -> float:
        """The timestamp of the first event that the next summary stands for."""
        compaction = self.previous.actions.compaction if self.previous else None
        return compaction.start_timestamp if compaction else self.events[0].timestamp

    def story(self, overlap: Sequence[Event]) -> list[Event]:
        """What the summarizer is told: the summary so far, the overlap, the events."""
        compaction = self.previous.actions.compaction if self.previous else None
        if self.previous is None or compaction is None:
            return self.events
        so_far = {
            "author": "model",
            "timestamp": compaction.start_timestamp,
            "content": compaction.compacted_content,
            "actions": EventActions(),
        }
        return [self.previous.model_copy(update=so_far), *overlap, *self.events]

    def still_holds(self, events: Sequence[Event]) -> bool:
        """Whether, as the log is now, nobody else has summed up meanwhile, and nothing of it was rewound."""
        current = without_superseded(events)
        index = latest_full_summary(current)
        known = current[index].id if index is not None else None
        ids = {event.id for event in current}
        return known == (self.previous.id if self.previous else None) and self.events[-1].id in ids


def plan_compaction(
    config: EventsCompactionConfig, events: Sequence[Event], ended: str | None
) -> Plan | None:
    """What is to be summed up now; None when nothing is due.

    Args:
        ended: the latest invocation that is known to be over; without it, the newest one is left alone.
    """
    current = without_superseded(events)
    index = latest_full_summary(current)
    known = summarized_range(current, index) if index is not None else None
    previous = current[index] if index is not None and known else None
    log = [event for event in current if not event.actions.compaction]
    begin, limit, barred = known.last + 1 if known else 0, _end_of(log, ended), _inside(log)
    if config.token_threshold is not None and _prompt_tokens(current) >= config.token_threshold:
        retained = len(log) - (config.event_retention_size or 0)
        if end := _last_cut(begin, min(limit, retained), barred):
            return Plan(previous, log[begin:end])
    end = _last_cut(begin, limit, barred)
    if end is None or len(invocations_of(log[begin:end])) < config.compaction_interval:
        return None
    return Plan(previous, log[begin:end])


def invocations_of(events: Sequence[Event]) -> list[str]:
    """The ids of the invocations in which something was said, oldest first."""
    return list(dict.fromkeys(event.invocation_id for event in events if event.content))


def last_invocations(events: Sequence[Event], count: int) -> Sequence[Event]:
    """The events from the first of the last `count` invocations on."""
    ids = invocations_of(events)[-count:]
    return events[index_of_invocation(events, ids[0]) :] if ids else events


def _end_of(log: list[Event], ended: str | None) -> int:
    """Where the invocations that are over end."""
    if ended is not None:
        return next((i + 1 for i in range(len(log) - 1, -1, -1) if log[i].invocation_id == ended), 0)
    newest = next((event.invocation_id for event in reversed(log) if event.content), "")
    return index_of_invocation(log, newest)


def _last_cut(begin: int, limit: int, barred: set[int]) -> int | None:
    return next((end for end in range(limit, begin, -1) if end not in barred), None)


def _inside(log: list[Event]) -> set[int]:
    """The positions where a cut would part what belongs together, or two events that the clock does not tell apart."""
    begun: dict[str, int] = {}
    made: dict[str, int] = {}
    barred = {i for i in range(1, len(log)) if log[i].timestamp == log[i - 1].timestamp}
    for index, event in enumerate(log):
        if event.content and event.invocation_id:
            barred.update(range(begun.setdefault(event.invocation_id, index) + 1, index + 1))
        for call_id in response_ids(event):
            barred.update(range(made.get(call_id, index) + 1, index + 1))
        made.update(dict.fromkeys(call_ids(event), index))
    for call_id in pending_calls(log):
        barred.update(range(made.get(call_id, 0) + 1, len(log) + 1))
    return barred


def _prompt_tokens(events: Sequence[Event]) -> int:
    """How long the latest request was; 0 when there was none since the latest summary."""
    for event in reversed(events):
        if event.actions.compaction:
            return 0
        if event.usage_metadata and event.usage_metadata.prompt_token_count:
            return event.usage_metadata.prompt_token_count
    return 0
