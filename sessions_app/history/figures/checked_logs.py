"""Checks of logs, with their outcome in the figures: the home page of the admin names the sessions with a flaw.

The outcome is a hint. Only the check itself, `sessions_app.history.integrity`, tells whether a log is as written.
"""

from itertools import chain, islice
from time import monotonic
from uuid import UUID, uuid4

from sessions_app.history.integrity import Flaw, flaws
from sessions_app.models import Session, SessionFigures

SESSIONS_PER_QUERY = 200
SECONDS = 60
"""Time of a night for checks: enough for about a million events."""


def check_logs(session_ids: list[UUID]) -> list[Flaw]:
    """Return the first flaw of each changed log, and note the flaws."""
    found = list(flaws(session_ids))
    flawed = [flaw.session_id for flaw in found]
    noted = SessionFigures.objects.filter(session__in=session_ids, flaw_seq__isnull=False)
    noted.exclude(session__in=flawed).update(flaw_seq=None)
    SessionFigures.objects.bulk_create(
        [SessionFigures(session_id=flaw.session_id, flaw_seq=flaw.seq) for flaw in found],
        update_conflicts=True,
        unique_fields=["session"],
        update_fields=["flaw_seq"],
    )
    return found


def check_some_logs() -> None:
    """Check logs for a minute, from a random session on: after some nights each log was checked."""
    end = monotonic() + SECONDS
    start = uuid4()
    ids = Session.objects.order_by("pk").values_list("pk", flat=True)
    ring = chain(ids.filter(pk__gte=start).iterator(), ids.filter(pk__lt=start).iterator())
    while monotonic() < end:
        batch = list(islice(ring, SESSIONS_PER_QUERY))
        if not batch:
            return
        check_logs(batch)
