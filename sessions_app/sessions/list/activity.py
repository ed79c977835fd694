"""Activity of a user: work in all sessions that runs, waits for an answer, or is scheduled."""

from dataclasses import dataclass
from typing import TypeVar

from django.db.models import JSONField, Model, QuerySet
from django.db.models.expressions import RawSQL

from runtime.events.answer_rules import STAFF
from sessions_app.models import AnswerRequest, Invocation, JobStatus, ScheduledTask, Session, ToolJob
from sessions_app.sessions.list.listing import asked_of
from sessions_app.sessions.ownership import User

MAX_ROWS = 50
"""Maximum number of rows of each list."""
CALL_EVENT = """
    SELECT event.body FROM sessions_app_event AS event
    WHERE event.session_id = sessions_app_answerrequest.session_id
        AND sessions_app_answerrequest.job_id IS NULL
        AND jsonb_exists(event.body -> 'longRunningToolIds', sessions_app_answerrequest.call_id)
    ORDER BY event.seq DESC LIMIT 1
"""
"""Body of the event with a request's call. A waiting call is near the log's end, from which the search begins."""
_SESSION = ("session__title", "session__app_name")
_INVOCATION = ("invocation_id", "status", "created_at", "started_at")
_JOB = (
    "call_id", "tool_name", "status", "attempts", "most_attempts", "question", "answers", "artifacts", "error",
    "phases", "progress_done", "progress_total", "created_at", "run_at", "sent_at", "started_at", "finished_at",
)  # fmt: skip
_REQUEST = ("call_id", "kind", "tool_name", "asked_at", *(f"job__{name}" for name in (*_JOB, "session")))
_TASK = ("task", "next_at", "every", "time_zone", "start_at", "error", "cancelled_at")
M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Activity:
    """Rows of a user's sessions, archived sessions included. Each row has its `session` loaded.

    Attributes:
        asked: questions to the user, newest first; each with its `job` or, of a call, `call_event`, the event's body.
        for_staff: calls that wait for an answer of staff, newest first, in the same way.
        invocations: queued and running invocations, newest first.
        jobs: queued and running jobs, newest first.
        tasks: active scheduled tasks, by next run.
        is_cut: True if a list has more than `MAX_ROWS` rows.
    """

    asked: list[AnswerRequest]
    for_staff: list[AnswerRequest]
    invocations: list[Invocation]
    jobs: list[ToolJob]
    tasks: list[ScheduledTask]
    is_cut: bool

    @property
    def most_rows(self) -> int:
        """The maximum number of rows of each list, for the template."""
        return MAX_ROWS


def activity_of(person: User) -> Activity:
    """Return the activity of the user's sessions, in five queries."""
    sessions = Session.objects.owned_by(person).values("pk")
    invocations = Invocation.objects.filter(session__in=sessions)
    jobs = ToolJob.objects.filter(session__in=sessions)
    tasks = ScheduledTask.objects.filter(session__in=sessions)
    for_staff = AnswerRequest.objects.open().filter(session__in=sessions, answered_by__startswith=STAFF)
    lists = _LimitedLists()
    return Activity(
        asked=lists.read(_with_calls(asked_of(person)), _REQUEST),
        for_staff=lists.read(_with_calls(for_staff), _REQUEST),
        invocations=lists.read(invocations.active().order_by("-pk"), _INVOCATION),
        jobs=lists.read(jobs.filter(status__in=JobStatus.active()).order_by("-created_at", "pk"), _JOB),
        tasks=lists.read(tasks.active(), _TASK),
        is_cut=lists.has_cut,
    )


def _with_calls(requests: QuerySet[AnswerRequest]) -> QuerySet[AnswerRequest]:
    event = RawSQL(CALL_EVENT, [], output_field=JSONField())  # noqa: S611 (no value is inserted)
    return requests.select_related("job").annotate(call_event=event).order_by("-asked_at", "-pk")


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
