"""Groups of the list of sessions: pinned sessions, then groups by day of last use."""

from __future__ import annotations

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext

from sessions_app.models import Session

DAYS_OF_WEEK = 7


def group_of(session: Session) -> str:
    """Return the heading of the session's group, by the reader's calendar and in the reader's language."""
    if session.is_pinned and session.archived_at is None:
        return gettext("Pinned")
    day = timezone.localdate(session.updated_at)
    days = (timezone.localdate() - day).days
    if days <= 0:  # negative if the clock of PostgreSQL is ahead around midnight
        return gettext("Today")
    if days == 1:
        return gettext("Yesterday")
    return gettext("Previous 7 days") if days <= DAYS_OF_WEEK else date_format(day, "YEAR_MONTH_FORMAT")
