"""Activity of a user: work in all sessions that runs, waits for an answer, or is scheduled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Model, QuerySet

from runtime.events.answer_rules import STAFF
from sessions_app.models import AnswerRequest, Invocation, JobStatus, ScheduledTask, Session, ToolJob
from sessions_app.sessions.list.listing import unanswered
from sessions_app.sessions.ownership import User

MAX_ROWS = 50
"""Maximum number of rows of each list."""
_SESSION = ("session__title", "session__app_name")
_INVOCATION = ("invocation_id", "status", "created_at", "started_at")
_JOB = (
    "tool_name", "status", "question", "created_at", "run_at", "sent_at", "started_at",
    "progress_done", "progress_total", "progress_message",
)  # fmt: skip
_REQUEST = ("tool_name", "asked_at")
_TASK = ("task", "next_at", "every", "time_zone", "start_at")
M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Activity:
    """Rows of a user's sessions, archived sessions included. Each row has its `session` loaded.

    Attributes:
        questions: jobs with a question, oldest first.
        unanswered: invocations that wait for an answer of the user, oldest first.
        for_staff: calls that wait for an answer of staff, oldest first.
        invocations: queued and running invocations, newest first.
        jobs: queued and running jobs, newest first.
        tasks: active scheduled tasks, by next run.
        is_cut: True if a list has more than `MAX_ROWS` rows.
    """

    questions: list[ToolJob]
    unanswered: list[Invocation]
    for_staff: list[AnswerRequest]
    invocations: list[Invocation]
    jobs: list[ToolJob]
    tasks: list[ScheduledTask]
    is_cut: bool

    @property
    def is_empty(self) -> bool:
        """True if all lists are empty."""
        of_person = self.questions or self.unanswered
        return not (of_person or self.for_staff or self.invocations or self.jobs or self.tasks)

    @property
    def most_rows(self) -> int:
        """The maximum number of rows of each list, for the template."""
        return MAX_ROWS


def activity_of(person: User) -> Activity:
    """Return the activity of the user's sessions, in six queries."""
    sessions = Session.objects.owned_by(person).values("pk")
    invocations = Invocation.objects.filter(session__in=sessions)
    jobs = ToolJob.objects.filter(session__in=sessions)
    tasks = ScheduledTask.objects.filter(session__in=sessions)
    requests = AnswerRequest.objects.open().filter(session__in=sessions, answered_by__startswith=STAFF)
    lists = _LimitedLists()
    return Activity(
        questions=lists.read(jobs.filter(status=JobStatus.WAITING).order_by("created_at", "pk"), _JOB),
        unanswered=lists.read(unanswered(invocations).order_by("pk"), _INVOCATION),
        for_staff=lists.read(requests.order_by("asked_at", "pk"), _REQUEST),
        invocations=lists.read(invocations.active().order_by("-pk"), _INVOCATION),
        jobs=lists.read(jobs.filter(status__in=JobStatus.active()).order_by("-created_at", "pk"), _JOB),
        tasks=lists.read(tasks.active(), _TASK),
        is_cut=lists.has_cut,
    )


class _LimitedLists:
    """Load lists of at most `MAX_ROWS` rows; `has_cut` is True once a list was longer."""

    def __init__(self) -> None:
        self.has_cut = False

    def read(self, rows: QuerySet[M, M], fields: tuple[str, ...]) -> list[M]:
        """Return the first rows with their sessions.

        Args:
            fields: the columns to load.
        """
        # Only the columns that the page shows: messages, arguments and states may be large.
        found = list(rows.select_related("session").only(*fields, *_SESSION)[: MAX_ROWS + 1])
        self.has_cut = self.has_cut or len(found) > MAX_ROWS
        return found[:MAX_ROWS]
