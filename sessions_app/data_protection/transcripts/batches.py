"""Events of a session in batches, for streams in constant memory."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from sessions_app.history.rewinds import Rewinds, find_rewinds, without_rewound
from sessions_app.models import Event, Session
from sessions_app.process.threads import fetch_rows, in_thread

EVENTS_OF_BATCH = 50
EVENTS_AHEAD = 10


@dataclass(frozen=True)
class EventBatch:
    """Consecutive events, oldest first.

    Attributes:
        ahead: first events of the next batch, which may have responses to the last calls of this batch.
        rewinds: the rewinds of the log.
    """

    events: list[Event]
    ahead: list[Event]
    rewinds: Rewinds


async def read_batches(
    session: Session, *, with_undone: bool = False, only: int = 0
) -> AsyncIterator[EventBatch]:
    """Yield the effective events up to `session.last_seq`, as the chat page shows them (contract R3).

    With `with_undone`, yield all events; with `only`, the event of this number alone.
    """
    # Up to `last_seq` as loaded: a rewind during a long download must not change the rest of the file.
    rewinds = await in_thread(find_rewinds, session.pk, session.last_seq)
    events = session.events.filter(seq__lte=session.last_seq)
    if not with_undone:
        events = without_rewound(events, rewinds)
    if only:
        events = events.filter(seq=only)
    seq = 0
    wanted = EVENTS_OF_BATCH + EVENTS_AHEAD
    while rows := await fetch_rows(events.after(seq).only("seq", "body", "session_id")[:wanted]):
        batch = EventBatch(rows[:EVENTS_OF_BATCH], rows[EVENTS_OF_BATCH:], rewinds)
        yield batch
        seq = batch.events[-1].seq
