"""Pages of the list of a person's sessions, latest use first; pinned sessions lead the first page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, Value

from runtime.events.answer_rules import PERSON
from sessions_app.base.timing import in_utc
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError
from sessions_app.models import (
    AnswerRequest,
    Invocation,
    InvocationStatus,
    JobStatus,
    Session,
    ShareLink,
    ToolJob,
)
from sessions_app.models.invocation import InvocationQuerySet
from sessions_app.models.session import SessionQuerySet
from sessions_app.sessions.ownership import User

PAGE_SESSIONS = 30
MAX_SESSIONS = 500
"""Maximum number of sessions of a page that an address asks for."""
MAX_PINNED = 50
MAX_DIGITS = 9
LARGE_COLUMNS = ("state", "initial_state", "log_hash")
BROKEN = "The address of this page is broken. Go back to your chats."


@dataclass(frozen=True)
class SessionListPage:
    """A part of the list.

    Attributes:
        before: cursor of the next page; empty on the last one.
        is_search: True when a search has found the sessions: then they are not grouped by days.
    """

    sessions: list[Session]
    before: str = ""
    is_search: bool = False


def list_sessions(
    person: User, *, before: str = "", archived: bool = False, rows: str = ""
) -> SessionListPage:
    """Return the page of the person's sessions after a cursor, or the first page.

    Args:
        before: cursor of the page; empty for the first page.
        archived: True for the archived sessions, False for all others.
        rows: number of sessions of a longer page, as an address has it; pinned ones are not counted.

    Raises:
        InvalidInputError: the cursor is not valid, or `rows` is no number.
    """
    length = _length(rows)
    listed = with_activity(Session.objects.owned_by(person).begun().filter(archived_at__isnull=not archived))
    pinned = [] if before or archived else list(listed.filter(is_pinned=True).newest_first()[:MAX_PINNED])
    rest = listed if archived else listed.filter(is_pinned=False)
    if before:
        rest = rest.filter(_follows(before))
    found = list(rest.newest_first()[: length + 1])
    shown = found[:length]
    return SessionListPage(pinned + shown, _cursor(shown[-1]) if len(found) > length else "")


def _length(rows: str) -> int:
    """Return the length of the page for the number in an address: at least the usual one, at most `MAX_SESSIONS`."""
    if not rows:
        return PAGE_SESSIONS
    if not rows.isdecimal() or len(rows) > MAX_DIGITS:
        raise InvalidInputError(BROKEN)
    return min(max(int(rows), PAGE_SESSIONS), MAX_SESSIONS)


def with_activity(sessions: SessionQuerySet) -> SessionQuerySet:
    """Annotate the sessions with `is_busy`, `needs_person` and `is_shared`, and leave large columns out.

    A session needs its person when a job asks something, or when an invocation is `unanswered`.
    """
    invocations = Invocation.objects.filter(session=OuterRef("pk"))
    asking = ToolJob.objects.filter(session=OuterRef("pk"), status=JobStatus.WAITING)
    links = ShareLink.objects.active().filter(session=OuterRef("pk"))
    annotated = sessions.annotate(
        is_busy=Exists(invocations.active()),
        needs_person=Exists(asking) | Exists(unanswered(invocations)),
        is_shared=Exists(links) if conf().share_links else Value(False),
    )
    return annotated.defer(*LARGE_COLUMNS)


def unanswered(invocations: InvocationQuerySet) -> InvocationQuerySet:
    """Return the invocations that wait for their person to answer a call.

    Other waiting invocations wait for a job, for staff, or for an answer that is queued or runs.
    """
    requests = AnswerRequest.objects.filter(
        session=OuterRef("session"), invocation_id=OuterRef("invocation_id"), answered_by=PERSON, job=None
    )
    return invocations.filter(Exists(requests), status=InvocationStatus.WAITING)


def _cursor(session: Session) -> str:
    return f"{session.updated_at.isoformat()}_{session.pk}"


def _follows(before: str) -> Q:
    """Return a filter for the sessions after the cursor; its first part is the range that the index reads."""
    time, _, key = before.partition("_")
    try:
        at, pk = in_utc(datetime.fromisoformat(time)), UUID(key)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(BROKEN) from error
    return Q(updated_at__lte=at) & (Q(updated_at__lt=at) | Q(pk__lt=pk))
