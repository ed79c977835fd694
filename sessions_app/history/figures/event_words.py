"""Words of events: stored after the append, in the batches of the figures, and events that still wait for it."""

from collections.abc import Iterable
from uuid import UUID

from django.db import connection
from django.db.models import F

from sessions_app.models import Event, FiguresProgress, Session

_STORE = """\
WITH missing AS MATERIALIZED (
    SELECT e.id, e.session_id, e.seq, e.text, adk_event_details(e.body) AS details
    FROM sessions_app_sessionfigures f JOIN sessions_app_event e ON e.session_id = f.session_id AND e.seq > f.words_seq
    WHERE f.session_id = ANY(%s) ORDER BY e.session_id, e.seq LIMIT %s
), stored AS (
    INSERT INTO sessions_app_eventwords (event_id, session_id, words, details)
    SELECT id, session_id, adk_event_words(text, details), details FROM missing WHERE text <> '' OR details <> ''
)
SELECT session_id, max(seq), count(*) FROM missing GROUP BY session_id
"""


def store_words(session_ids: Iterable[UUID], most: int) -> tuple[dict[UUID, int], bool]:
    """Store the words of the sessions' events without words.

    Args:
        most: largest number of events to read.

    Returns:
        The number of the last event with words by session, for those with new words, and False if events are left.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STORE, [list(session_ids), most])
        rows = cursor.fetchall()
    read = sum(number for *_, number in rows)
    return {session_id: seq for session_id, seq, _ in rows}, read < most


def events_without_words(most: int) -> list[int] | None:
    """Return the primary keys of all events without words; None if they may be more than `most`."""
    progress = FiguresProgress.objects.first()
    if progress is None or progress.oldest or progress.words_newest != progress.newest:
        return None
    sessions = Session.objects.without_words().annotate(number=F("last_seq") - F("words_seq"))
    rows = sessions.values_list("pk", "number")
    recent = rows.filter(updated_at__gte=progress.newest)
    unsettled = rows.filter(figures__is_settled=False)
    waiting = dict(recent.union(unsettled).order_by()[: most + 1])
    if sum(waiting.values()) > most:
        return None
    return list(Event.objects.without_words().filter(session__in=waiting).values_list("pk", flat=True))
