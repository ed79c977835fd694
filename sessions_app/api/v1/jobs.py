"""Jobs: long-running calls that the site executes, with their progress, questions and results."""

from datetime import datetime
from math import isfinite
from typing import Any, Self
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from sessions_app import use_cases
from sessions_app.api.access.callers import actor_of, caller_of
from sessions_app.api.pages import NEWEST_JOB_FIRST, Page, PageQuery, RowSchema, read_page
from sessions_app.api.reachable import reachable_job, reachable_session
from sessions_app.base.codec import MAX_INTEGER
from sessions_app.models import JobStatus, Scope, ToolJob

router = Router(tags=["jobs"])


class Progress(Schema):
    """Progress of a job in its own units. `total` and `percent` are null while nobody knows them."""

    done: float | None
    total: float | None
    percent: int | None
    message: str


class Question(Schema):
    """Question that a job asks: `confirm` is answered with true or false, `choice` with one of the options."""

    number: int
    text: str
    kind: str
    options: list[str]

    @classmethod
    def of(cls, row: ToolJob) -> "Question | None":
        """Return the open question of a job; None when it asks nothing."""
        if row.question is None:
            return None
        asked = {name: row.question[name] for name in ("text", "kind", "options")}
        return cls(number=len(row.answers), **asked)


class Job(RowSchema):
    """A job without its arguments and result.

    Attributes:
        call_id: the function call that the job answers.
        files: files that the job has saved, with their versions.
    """

    job_id: UUID
    session_id: UUID
    run_id: str
    call_id: str
    tool: str
    agent: str
    status: JobStatus
    progress: Progress
    question: Question | None
    error: str
    files: dict[str, int]
    is_stop_requested: bool
    created_at: datetime
    run_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(cls, row: ToolJob) -> Self:
        return cls.from_row(row, **_fields_of(row))


class WholeJob(Job):
    """A job with its arguments and its result, null before it has succeeded."""

    arguments: Any
    result: Any

    @classmethod
    def of(cls, row: ToolJob) -> Self:
        """Return the schema of a job with its arguments."""
        return cls.from_row(row, **_fields_of(row), arguments=row.args)


class JobQuery(PageQuery):
    """Filter of the list of jobs."""

    status: JobStatus | None = Field(None, description="Lists only jobs with this status.")


class JobAnswer(Schema):
    """Answer to the question of a job.

    Attributes:
        number: number of the question, as the job tells it.
        answer: true or false to a confirmation, else a text.
    """

    number: int = Field(ge=0, le=MAX_INTEGER)
    answer: bool | str = Field(union_mode="left_to_right")


def _fields_of(row: ToolJob) -> dict[str, Any]:
    """Return the fields of `Job` that no attribute of the row has under the same name."""
    progress = Progress(
        done=_finite(row.progress_done),
        total=_finite(row.progress_total) or None,
        percent=row.percent,
        message=row.progress_message,
    )
    return {
        "job_id": row.pk,
        "run_id": row.invocation_id,
        "tool": row.tool_name,
        "agent": row.agent_name,
        "progress": progress,
        "question": Question.of(row),
        "files": row.artifacts,
    }


def _finite(value: float) -> float | None:
    """Return a number that a function has reported; None for infinity and NaN, which JSON does not have."""
    return value if isfinite(value) else None


@router.get("/sessions/{session_id}/jobs", response=Page[Job])
async def list_jobs(request: HttpRequest, session_id: UUID, query: Query[JobQuery]) -> Page[Job]:
    """List the jobs of a session, newest first."""
    session = await reachable_session(caller_of(request), session_id, Scope.READ)
    rows = session.jobs.defer("args", "result", "past_attempts", "error_detail")  # large, and not in the list
    if query.status is not None:
        rows = rows.filter(status=query.status)
    return await read_page(Page[Job], rows, NEWEST_JOB_FIRST, query, Job.of)


@router.get("/jobs/{job_id}", response=WholeJob)
async def read(request: HttpRequest, job_id: UUID) -> WholeJob:
    """Return a job with its arguments and its result."""
    return WholeJob.of(await reachable_job(caller_of(request), job_id, Scope.READ))


@router.post("/jobs/{job_id}/cancel", response={202: WholeJob})
async def cancel(request: HttpRequest, job_id: UUID) -> Status[WholeJob]:
    """Stop a job that is queued, running or waiting; a job that has ended stays as it is."""
    caller_of(request).require(Scope.READ)  # The response has the arguments.
    job = await reachable_job(caller_of(request), job_id, Scope.RUN)
    await use_cases.cancel_job(actor_of(request, job.session.user), job.session_id, job.pk)
    return Status(202, WholeJob.of(await reachable_job(caller_of(request), job_id, Scope.RUN)))


@router.post("/jobs/{job_id}/answer", response={202: WholeJob})
async def answer(request: HttpRequest, job_id: UUID, body: JobAnswer) -> Status[WholeJob]:
    """Answer the question of a waiting job. The first answer counts; later ones are refused with 409."""
    caller_of(request).require(Scope.READ)  # The response has the arguments.
    job = await reachable_job(caller_of(request), job_id, Scope.ANSWER)
    await use_cases.answer_job(
        actor_of(request, job.session.user), job.session_id, job.pk, body.number, body.answer
    )
    return Status(202, WholeJob.of(await reachable_job(caller_of(request), job_id, Scope.ANSWER)))
