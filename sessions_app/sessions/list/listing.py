"""Pages of a user's list of sessions, latest use first. Pinned sessions come first on the first page.

Pages continue at a cursor of time and primary key. With an offset, a session that is used between two requests would
move to the front and push another session onto both pages.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, Value
from django.utils.translation import gettext_noop

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
from sessions_app.models.answer_request import AnswerRequestQuerySet
from sessions_app.models.invocation import InvocationQuerySet
from sessions_app.models.session import SessionQuerySet
from sessions_app.sessions.agent_access import usable_names
from sessions_app.sessions.ownership import User

PAGE_SESSIONS = 30
MAX_SESSIONS = 500
"""Maximum number of sessions of a page with `rows`."""
MAX_PINNED = 50
MAX_DIGITS = 9
LARGE_COLUMNS = ("state", "initial_state", "log_hash")
BROKEN = gettext_noop("The address of this page is broken. Go back to your chats.")


@dataclass(frozen=True)
class SessionListPage:
    """A part of the list.

    Attributes:
        before: cursor of the next page; empty on the last page.
        asked: number of questions to the user in all sessions; None in the results of a search.
        is_search: True for the results of a search, which are not grouped by days.
        is_cut: True for a search with more results.
        has_packed: True for a search that did not look into packed sessions.
        closed_apps: names of apps that the user may not use any more; their sessions can only be read.
    """

    sessions: list[Session]
    before: str = ""
    asked: int | None = None
    is_search: bool = False
    is_cut: bool = False
    has_packed: bool = False
    closed_apps: frozenset[str] = frozenset()


def list_sessions(
    person: User, *, before: str = "", archived: bool = False, rows: str = ""
) -> SessionListPage:
    """Return a page of the user's sessions.

    Args:
        before: cursor of the page; empty for the first page.
        archived: True for archived sessions, False for all others.
        rows: number of sessions as text from a URL, without pinned sessions; empty for a page of the usual length.

    Raises:
        InvalidInputError: the cursor is not valid, or `rows` is no number.
    """
    length = _length(rows)
    listed = with_activity(Session.objects.owned_by(person).begun().filter(archived_at__isnull=not archived))
    pinned: list[Session] = []
    rest = listed
    if not archived:  # In the archive, pinned sessions stand among the others.
        rest = listed.filter(is_pinned=False)
        if not before:
            pinned = list(listed.filter(is_pinned=True).newest_first()[:MAX_PINNED])
    if before:
        rest = rest.filter(_follows(before))
    found = list(rest.newest_first()[: length + 1])
    shown = found[:length]
    following = _cursor(shown[-1]) if len(found) > length else ""
    sessions = pinned + shown
    return SessionListPage(
        sessions, following, asked_of(person).count(), closed_apps=closed_apps_of(person, sessions)
    )


def closed_apps_of(person: User, sessions: Iterable[Session]) -> frozenset[str]:
    """Return the names of the sessions' apps that the user may not use."""
    names = frozenset(session.app_name for session in sessions)
    return names.difference(usable_names(person.pk, names))


def _length(rows: str) -> int:
    """Parse the length of a page; return a number from `PAGE_SESSIONS` to `MAX_SESSIONS`."""
    if not rows:
        return PAGE_SESSIONS
    if not rows.isdecimal() or len(rows) > MAX_DIGITS:
        raise InvalidInputError(BROKEN)
    return min(max(int(rows), PAGE_SESSIONS), MAX_SESSIONS)


def with_activity(sessions: SessionQuerySet) -> SessionQuerySet:
    """Annotate the sessions with `is_busy`, `needs_person` and `is_shared`, and defer large columns.

    A session needs its user if a job has a question or an invocation is `unanswered`.
    """
    # `Exists` stops at the first row of a session, where a join and a count would read all its invocations.
    invocations = Invocation.objects.filter(session=OuterRef("pk"))
    asking = ToolJob.objects.filter(session=OuterRef("pk"), status=JobStatus.WAITING)
    links = ShareLink.objects.active().filter(session=OuterRef("pk"))
    annotated = sessions.annotate(
        is_busy=Exists(invocations.active()),
        needs_person=Exists(asking) | Exists(unanswered(invocations)),
        is_shared=Exists(links) if conf().share_links else Value(False),
    )
    return annotated.defer(*LARGE_COLUMNS)


def asked_of(person: User) -> AnswerRequestQuerySet:
    """Return the questions that the user has to answer, archived sessions included."""
    sessions = Session.objects.owned_by(person).values("pk")
    return AnswerRequest.objects.open().filter(session__in=sessions, answered_by=PERSON)


def unanswered(invocations: InvocationQuerySet) -> InvocationQuerySet:
    """Return the invocations with a call that the user has to answer.

    Other waiting invocations wait for a job, for staff, or for a queued or running answer.
    """
    requests = AnswerRequest.objects.filter(
        session=OuterRef("session"), invocation_id=OuterRef("invocation_id"), answered_by=PERSON, job=None
    )
    return invocations.filter(Exists(requests), status=InvocationStatus.WAITING)


def _cursor(session: Session) -> str:
    return f"{session.updated_at.isoformat()}_{session.pk}"


def _follows(before: str) -> Q:
    """Return a filter for the sessions after the cursor."""
    # `updated_at <= at` is redundant, but lets PostgreSQL read a range of the index; it cannot with the OR alone.
    time, _, key = before.partition("_")
    try:
        at = in_utc(datetime.fromisoformat(time))
        pk = UUID(key)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(BROKEN) from error
    return Q(updated_at__lte=at) & (Q(updated_at__lt=at) | Q(pk__lt=pk))
