"""Newest rows of a session other than events: invocations, jobs, scheduled tasks, feedback and files."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast, Left

from sessions_app.admin.framework.runs import LARGE_OF_INVOCATION, LARGE_OF_JOB
from sessions_app.admin.session.timeline.facets import Facets
from sessions_app.admin.session.timeline.totals import InvocationView, SessionTotals
from sessions_app.models import Artifact, Feedback, Invocation, ScheduledTask, Session, ToolJob

T = TypeVar("T")
MAX_SHOWN_ROWS = 50
RESULT_CHARACTERS = 1_001
"""Characters of a job's result to load: one more than shown, to know whether the result is longer."""


@dataclass(frozen=True)
class FileView:
    """The newest version of a file, and the `seq` of the event in which it was saved; None without such an event."""

    artifact: Artifact
    seq: int | None


@dataclass(frozen=True)
class Newest(Generic[T]):
    """The newest of some rows, and the number of all of them."""

    rows: list[T]
    count: int


@dataclass(frozen=True)
class RelatedRows:
    """Rows of the page other than events."""

    invocations: Newest[InvocationView]
    jobs: Newest[ToolJob]
    scheduled_tasks: Newest[ScheduledTask]
    feedback: Newest[Feedback]
    files: list[FileView]


def load_related_rows(session: Session, totals: SessionTotals, facets: Facets) -> RelatedRows:
    """Load the rows, in nine queries."""
    invocations = _newest(
        Invocation.objects.filter(session=session).defer(*LARGE_OF_INVOCATION).order_by("-id")
    )
    return RelatedRows(
        invocations=Newest([totals.view_of(row) for row in invocations.rows], invocations.count),
        jobs=_newest(
            _without_large_columns(ToolJob.objects.filter(session=session)).order_by("-created_at", "-pk")
        ),
        scheduled_tasks=_newest(ScheduledTask.objects.filter(session=session).order_by("-id")),
        feedback=_newest(Feedback.objects.filter(session=session).order_by("-id")),
        files=_files(session, facets),
    )


def _newest(rows: QuerySet[Any]) -> Newest[Any]:
    return Newest(list(rows[:MAX_SHOWN_ROWS]), rows.count())


def _without_large_columns(jobs: QuerySet[ToolJob]) -> QuerySet[ToolJob]:
    """Return the jobs with the beginning of their results only."""
    # A tool may return megabytes: PostgreSQL cuts the result before it is sent.
    beginning = Left(Cast("result", TextField()), RESULT_CHARACTERS)
    return jobs.annotate(beginning_of_result=beginning).defer(*LARGE_OF_JOB)


def _files(session: Session, facets: Facets) -> list[FileView]:
    """Return the newest versions of the session's files, and of the user's files saved by the session's events."""
    saved = {name for name, _ in facets.files}
    of_user = Q(session=None, user_id=session.user_id, app_name=session.app_name, filename__in=saved)
    found = Artifact.objects.filter(Q(session=session) | of_user)
    newest = found.order_by("filename", "-version").distinct("filename")[:MAX_SHOWN_ROWS]
    return [
        FileView(artifact, facets.files.get((artifact.filename, artifact.version))) for artifact in newest
    ]
