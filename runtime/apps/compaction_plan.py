"""Plan of a compaction: a pure decision on the events to summarize (contract R4).

    | replaced by the previous summary | events without a summary | not ended |
                                       begin        ^ end: the last allowed cut

A cut must not separate a call from its response or divide an invocation. A pending call and all later events stay
without a summary, because the answer to the call will need them. A call that has been pending for long does not: an
ignored question would keep the whole conversation in every request. Its late answer is read with the whole log.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from runtime.apps.app import EventsCompactionConfig
from runtime.events.allowances import withdrawn_tool
from runtime.events.calls import made_calls
from runtime.events.event import Event
from runtime.events.event_actions import EventActions
from runtime.events.rewound import index_of_invocation
from runtime.events.summaries import latest_full_summary, summarized_range, without_superseded

IGNORED_AFTER = 5
"""Number of later invocations after which a pending call is summarized with the events around it."""


@dataclass(frozen=True)
class Plan:
    """Range of the next summary.

    Attributes:
        previous: event of the previous summary, which the next summary includes; None if there is none.
        events: events to summarize; not empty.
    """

    previous: Event | None
    events: list[Event]

    @property
    def log(self) -> list[Event]:
        """The event of the previous summary, if there is one, and the events to summarize."""
        if self.previous is None:
            return self.events
        return [self.previous, *self.events]

    @property
    def start(self) -> float:
        """Timestamp of the first event in the range of the next summary."""
        if self.previous and self.previous.actions.compaction:
            return self.previous.actions.compaction.start_timestamp
        return self.events[0].timestamp

    def summarizer_input(self, overlap: Sequence[Event]) -> list[Event]:
        """Return the input of the summarizer: the previous summary, the overlap and the events."""
        if self.previous is None or self.previous.actions.compaction is None:
            return self.events
        compaction = self.previous.actions.compaction
        fields = {
            # As an ordinary content: summarizers read contents, not compactions.
            "author": "model",
            "timestamp": compaction.start_timestamp,
            "content": compaction.compacted_content,
            "actions": EventActions(),
        }
        return [self.previous.model_copy(update=fields), *overlap, *self.events]

    def still_holds(self, events: Sequence[Event]) -> bool:
        """Return True if the current events have no newer summary and still include the planned events."""
        current = without_superseded(events)
        index = latest_full_summary(current)
        if self.previous is None:
            is_newest = index is None
        else:
            is_newest = index is not None and current[index].id == self.previous.id
        # The last planned event is enough: a rewind undoes everything after its invocation.
        return is_newest and any(event.id == self.events[-1].id for event in current)


def plan_compaction(
    config: EventsCompactionConfig, events: Sequence[Event], ended: str | None
) -> Plan | None:
    """Return the plan of the due summary, or None.

    Args:
        ended: id of the latest invocation known to have ended; without an id, the newest invocation is left out.
    """
    current = without_superseded(events)
    previous = None
    begin = 0
    index = latest_full_summary(current)
    if index is not None:
        summarized = summarized_range(current, index)
        if summarized is not None:
            previous = current[index]
            begin = summarized.last + 1
    log = [event for event in current if not event.actions.compaction]
    limit = _end_of_ended_invocations(log, ended)
    forbidden = _forbidden_cuts(log)
    if config.token_threshold is not None and _prompt_tokens(current) >= config.token_threshold:
        # The threshold wins over the interval: the prompt is too long, however few the invocations are.
        retained = len(log) - (config.event_retention_size or 0)
        end = _last_cut(begin, min(limit, retained), forbidden)
        if end is not None:
            return Plan(previous, log[begin:end])
    end = _last_cut(begin, limit, forbidden)
    if end is None or len(invocation_ids_of(log[begin:end])) < config.compaction_interval:
        return None
    return Plan(previous, log[begin:end])


def invocation_ids_of(events: Sequence[Event]) -> list[str]:
    """Return the ids of the invocations with content, oldest first."""
    return list(dict.fromkeys(event.invocation_id for event in events if event.content))


def last_invocations(events: Sequence[Event], count: int) -> Sequence[Event]:
    """Return the events from the beginning of the last invocations on; all events if none has content."""
    ids = invocation_ids_of(events)[-count:]
    if not ids:
        return events
    return events[index_of_invocation(events, ids[0]) :]


def _end_of_ended_invocations(log: list[Event], ended: str | None) -> int:
    """Return the position after the last event of the latest ended invocation."""
    if ended is None:
        # The newest invocation may still be running.
        newest = next((event.invocation_id for event in reversed(log) if event.content), "")
        return index_of_invocation(log, newest)
    for end in range(len(log), 0, -1):
        if log[end - 1].invocation_id == ended:
            return end
    return 0


def _last_cut(begin: int, limit: int, forbidden: set[int]) -> int | None:
    for end in range(limit, begin, -1):
        if end not in forbidden:
            return end
    return None


def _forbidden_cuts(log: list[Event]) -> set[int]:
    """Return the positions where a cut is not allowed."""
    invocation_starts: dict[str, int] = {}
    position_of: dict[int, int] = {}
    forbidden: set[int] = set()
    for index, event in enumerate(log):
        position_of[id(event)] = index
        # A summary names its last event by timestamp, so equal timestamps must not be separated.
        if index and event.timestamp == log[index - 1].timestamp:
            forbidden.add(index)
        # A withdrawal stays in effect among rewound events; a summary that ends with it would seem rewound.
        if withdrawn_tool(event):
            forbidden.add(index + 1)
        if event.content and event.invocation_id:
            forbidden.update(range(invocation_starts.setdefault(event.invocation_id, index) + 1, index + 1))
    invocations = invocation_ids_of(log)
    recent = set(invocations[-1 - IGNORED_AFTER :])
    for made in made_calls(log):
        # Between a call and its last response; everything after a pending call.
        end = max((position_of[id(answer.event)] for answer in made.answers), default=0)
        if made.is_pending and made.event.invocation_id in recent:
            end = len(log)
        forbidden.update(range(position_of[id(made.event)] + 1, end + 1))
    return forbidden


def _prompt_tokens(events: Sequence[Event]) -> int:
    """Return the prompt tokens of the latest request; 0 if there was none since the latest summary."""
    for event in reversed(events):
        if event.actions.compaction:
            return 0
        if event.get_function_responses():
            continue  # Its usage counts requests of agents that ran as tools.
        if event.usage_metadata and event.usage_metadata.prompt_token_count:
            return event.usage_metadata.prompt_token_count
    return 0
