"""Activity: what runs, what waits for the person and what comes, in all sessions of one person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Model, QuerySet

from sessions_app.models import Invocation, JobStatus, ScheduledTask, Session, ToolJob
from sessions_app.ownership import User
from sessions_app.session_list.listing import unanswered

MOST_ROWS = 50
"""Number of rows that each list has at most."""
_SESSION = ("session__title", "session__app_name")
_INVOCATION = ("invocation_id", "status", "created_at", "started_at")
_JOB = (
    "tool_name", "status", "question", "created_at", "run_at", "sent_at", "started_at",
    "progress_done", "progress_total", "progress_message",
)  # fmt: skip
_TASK = ("task", "next_at", "every", "time_zone", "start_at")
M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Activity:
    """Rows of a person's sessions, archived ones included; each with its `session`.

    Attributes:
        questions: jobs that ask something, the oldest first.
        unanswered: invocations that wait for an approval or another answer, the oldest first.
        invocations: queued and running invocations, the newest first.
        jobs: queued and running jobs, the newest first.
        tasks: active scheduled tasks, the next one first.
    """

    questions: list[ToolJob]
    unanswered: list[Invocation]
    invocations: list[Invocation]
    jobs: list[ToolJob]
    tasks: list[ScheduledTask]

    @property
    def is_empty(self) -> bool:
        """True when there is no row."""
        return not any(self._lists)

    @property
    def is_cut(self) -> bool:
        """True when a list is as long as it may be, so that rows may be missing."""
        return any(len(rows) == MOST_ROWS for rows in self._lists)

    @property
    def most_rows(self) -> int:
        """The number of rows that each list has at most."""
        return MOST_ROWS

    @property
    def _lists(self) -> tuple[list[ToolJob] | list[Invocation] | list[ScheduledTask], ...]:
        return (self.questions, self.unanswered, self.invocations, self.jobs, self.tasks)


def activity_of(person: User) -> Activity:
    """Return the activity of the person's sessions; five queries, however many sessions there are."""
    sessions = Session.objects.owned_by(person).values("pk")
    invocations = Invocation.objects.filter(session__in=sessions)
    jobs = ToolJob.objects.filter(session__in=sessions)
    tasks = ScheduledTask.objects.filter(session__in=sessions)
    return Activity(
        questions=_read(jobs.filter(status=JobStatus.WAITING).order_by("created_at", "pk"), _JOB),
        unanswered=_read(unanswered(invocations).order_by("pk"), _INVOCATION),
        invocations=_read(invocations.active().order_by("-pk"), _INVOCATION),
        jobs=_read(jobs.filter(status__in=JobStatus.active()).order_by("-created_at", "pk"), _JOB),
        tasks=_read(tasks.active(), _TASK),
    )


def _read(rows: QuerySet[M, M], fields: tuple[str, ...]) -> list[M]:
    """Return the first rows with these fields and their sessions; messages, arguments and states may be large."""
    return list(rows.select_related("session").only(*fields, *_SESSION)[:MOST_ROWS])
