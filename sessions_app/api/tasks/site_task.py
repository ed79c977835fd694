"""Tasks: an invocation with all invocations that continue it. Nothing is stored for a task.

    invocation --> pending calls, jobs --> invocations with their answers --> ...
         `--> retry --> ...

The client id of an invocation names the call or job that it answers, or the invocation that it retries, so the chain
can be followed in both directions. The state derives from the rows:

    submitted --> working --> completed, failed, canceled
                   ^   |
                   |   v
         input required, auth required
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto

from runtime import types
from runtime.events.answer_rules import PERSON
from runtime.events.calls import REQUEST_CREDENTIAL, MadeCall, made_calls
from runtime.events.event import Event as RuntimeEvent
from sessions_app.base import client_ids
from sessions_app.base.codec import event_to_show, is_storable
from sessions_app.errors import NotFoundError
from sessions_app.history.event_marks import writer_of
from sessions_app.history.invocation_events import events_of
from sessions_app.invocations.waiting_calls import answered_by_or_site
from sessions_app.models import Invocation, InvocationStatus, JobStatus, Session, ToolJob
from sessions_app.models.session import of_shown_apps
from sessions_app.process.threads import in_thread
from sessions_app.sessions.ownership import User
from sessions_app.store.packs import open_if_packed, open_pack

CONTINUATIONS = (client_ids.ANSWER, client_ids.JOB, client_ids.RETRY)
"""Prefixes of the client ids of invocations that continue a task."""
MAX_ROUNDS = 50
"""Maximum length of a chain of answers that is read as one task."""


class TaskState(StrEnum):
    """State of a task; see the module's docstring."""

    SUBMITTED = auto()
    WORKING = auto()
    INPUT_REQUIRED = auto()
    AUTH_REQUIRED = auto()
    COMPLETED = auto()
    FAILED = auto()
    CANCELED = auto()


@dataclass(frozen=True)
class SiteTask:
    """A task with its rows.

    Attributes:
        invocations: the invocations; the id of the first is the id of the task.
        events: their events, in the order of the log.
        last_seq: `seq` of the last event; 0 without events.
        jobs: jobs of their calls.
        asked: pending calls that the user may answer.
        has_others_to_wait_for: True if a call waits for staff or for code of the site.
    """

    session: Session
    invocations: Sequence[Invocation]
    events: Sequence[RuntimeEvent]
    last_seq: int
    jobs: Sequence[ToolJob]
    asked: Sequence[types.FunctionCall]
    has_others_to_wait_for: bool

    @property
    def id(self) -> str:
        return self.invocations[0].invocation_id

    @property
    def context_id(self) -> str:
        """Id of the task's session."""
        return str(self.session.pk)

    @property
    def invocation_ids(self) -> set[str]:
        return {row.invocation_id for row in self.invocations}

    @property
    def questions(self) -> list[ToolJob]:
        """Jobs with a question to the user."""
        return [job for job in self.jobs if job.status == JobStatus.WAITING and job.question]

    @property
    def state(self) -> TaskState:
        if any(row.status in InvocationStatus.active() for row in self.invocations):
            if len(self.invocations) == 1 and self.invocations[0].status == InvocationStatus.QUEUED:
                return TaskState.SUBMITTED
            return TaskState.WORKING
        if self.asked or self.questions:
            if self.questions or any(call.name != REQUEST_CREDENTIAL for call in self.asked):
                return TaskState.INPUT_REQUIRED
            return TaskState.AUTH_REQUIRED
        # The caller cannot answer for staff, so for the caller the task is working. A job that has ended still works
        # until its result is delivered as an invocation.
        if self.has_others_to_wait_for or any(job.delivered_at is None for job in self.jobs):
            return TaskState.WORKING
        return ENDS.get(self.invocations[-1].status, TaskState.COMPLETED)

    @property
    def has_ended(self) -> bool:
        """True if the task is completed, failed or cancelled."""
        return self.state in ENDS.values()

    @property
    def is_at_rest(self) -> bool:
        """True if the task has ended or waits for the user."""
        return self.has_ended or self.state in (TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED)


ENDS: dict[str, TaskState] = {
    InvocationStatus.COMPLETED: TaskState.COMPLETED,
    InvocationStatus.FAILED: TaskState.FAILED,
    InvocationStatus.CANCELLED: TaskState.CANCELED,
}


async def find_task(user: User, app_name: str, task_id: str) -> SiteTask | None:
    """Return a task of the user with an app, or with any app if `app_name` is empty; None if there is none."""
    if not is_storable(task_id):
        return None
    found = await in_thread(_first_row, user, app_name, task_id)
    return None if found is None else await load_task(found)


async def load_task(first: Invocation) -> SiteTask:
    """Return the task that begins with `first`, an invocation with its session loaded.

    Raises:
        NotFoundError: the session has been erased.
        FilesUnavailableError, LostPackError: as `store.packs.open_pack`.
    """
    await open_if_packed(first.session)
    try:
        rows, stored, jobs = await in_thread(_load, first)
    except Invocation.DoesNotExist:
        raise NotFoundError("There is no such task here.") from None
    session = first.session
    events = [event for _, event in stored]
    of_jobs = {job.call_id for job in jobs}
    answers = {row.client_id for row in rows}
    asked: list[types.FunctionCall] = []
    has_others_to_wait_for = False
    for made in made_calls(events):
        is_answered = client_ids.of_answer(made.call.id or "") in answers
        if not made.is_pending or made.call.id in of_jobs or is_answered:
            continue
        if await answered_by_or_site(session.app_name, made) == PERSON:
            asked.append(made.call)
        else:
            has_others_to_wait_for = True
    return SiteTask(
        session=session,
        invocations=rows,
        events=events,
        last_seq=stored[-1][0] if stored else 0,
        jobs=jobs,
        asked=asked,
        has_others_to_wait_for=has_others_to_wait_for,
    )


def first_invocation(row: Invocation) -> Invocation | None:
    """Return the first invocation of the task of `row`, with its session loaded; None if it was deleted.

    Raises:
        FilesUnavailableError, LostPackError: as `store.packs.open_pack`.
    """
    open_pack(row.session)
    for _ in range(MAX_ROUNDS):
        if not row.client_id.startswith(CONTINUATIONS):
            return row
        begun = Invocation.objects.without_details().select_related("session")
        earlier = begun.filter(session=row.session_id, invocation_id=_continued_by(row)).first()
        if earlier is None:
            return None
        row = earlier
    return None


def _continued_by(row: Invocation) -> str:
    """Return the id of the invocation that `row` retries, or whose call it answers; empty if there is none."""
    prefix, _, name = row.client_id.partition(":")
    if f"{prefix}:" == client_ids.RETRY:
        return name
    if f"{prefix}:" == client_ids.JOB:
        name = ToolJob.objects.filter(pk=name).values_list("call_id", flat=True).first() or ""
    # The invocation that answers a call does not name the one that made it: the event of the call does.
    made = row.session.events.filter(body__content__parts__contains=[{"functionCall": {"id": name}}])
    body = made.order_by("seq").values_list("body", flat=True).first() or {}
    return writer_of(body.get("invocationId"), body.get("customMetadata"))


def _first_row(user: User, app_name: str, task_id: str) -> Invocation | None:
    own = Invocation.objects.without_details().select_related("session")
    own = own.filter(
        of_shown_apps("session__app_name"),
        invocation_id=task_id,
        session__user=user.pk,
        session__deleted_at=None,
    )
    if app_name:
        own = own.filter(session__app_name=app_name)
    return own.first()


def _load(first: Invocation) -> tuple[list[Invocation], list[tuple[int, RuntimeEvent]], list[ToolJob]]:
    # A stream loads its task again and again, with the row that it has.
    first.refresh_from_db(fields=["status", "error_message", "started_at", "finished_at"])
    rows = [first]
    new = [first]
    stored: list[tuple[int, RuntimeEvent]] = []
    jobs: list[ToolJob] = []
    for _ in range(MAX_ROUNDS):
        written = events_of(first.session_id, {row.invocation_id for row in new}).order_by("seq")
        added = [(seq, event_to_show(body)) for seq, body in written.values_list("seq", "body")]
        stored += added
        calls = _long_running_ids(event for _, event in added)
        jobs += ToolJob.objects.filter(session=first.session_id, call_id__in=calls)
        names = [client_ids.of_answer(call_id) for call_id in calls]
        names += [client_ids.of_job(job.pk) for job in jobs]
        names += [client_ids.of_retry(row.invocation_id) for row in new]
        known = {row.pk for row in rows}
        following = Invocation.objects.filter(session=first.session_id, client_id__in=names)
        new = list(following.exclude(pk__in=known).without_details().order_by("pk"))
        rows += new
        if not new:
            break
    stored.sort(key=lambda numbered: numbered[0])
    return rows, stored, jobs


def _long_running_ids(events: Iterable[RuntimeEvent]) -> list[str]:
    made: list[MadeCall] = made_calls(events)
    return [made_call.call.id for made_call in made if made_call.call.id and made_call.is_long_running]
