"""Runs: a message and the work on it, up to its answer. A run continues when nobody reads its stream.

Acts on a run stop, retry, replace or undo it, or answer its calls that wait.
"""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID, uuid4

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Query, Router, Schema, Status
from pydantic import Field, StringConstraints

from sessions_app import use_cases
from sessions_app.api.access.callers import Caller, actor_of, caller_of
from sessions_app.api.idempotency import id_of_key, key_of
from sessions_app.api.pages import NEWEST_FIRST, Page, PageQuery, RowSchema, read_page
from sessions_app.api.reachable import reachable_run, reachable_session
from sessions_app.api.v1.approvals import CallAnswer
from sessions_app.base.codec import MAX_INTEGER
from sessions_app.models import Invocation, InvocationStatus, Scope

router = Router(tags=["runs"])
ClientId = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[\x20-\x7e]*$")]


class UploadName(Schema):
    """An upload of the session."""

    name: str = Field(min_length=1, max_length=1024)
    version: int = Field(ge=0, le=MAX_INTEGER)


class NewRun(Schema):
    """A message.

    Attributes:
        text: may be empty when there are files.
        files: uploads of the session.
        state_delta: new values of the session's state by key, or of the person's (`user:`), committed with the message.
        client_id: the same id again starts no second run; the header `Idempotency-Key` does the same.
    """

    text: str = Field("", examples=["Where is my refund?"])
    files: list[UploadName] = Field(default_factory=list, max_length=100)
    state_delta: dict[str, Any] | None = None
    client_id: ClientId | None = None


class RunError(Schema):
    """Reason of a failure: a code for programs, and a sentence."""

    code: str
    message: str


class Run(RowSchema):
    """A run.

    Attributes:
        status: queued, running, waiting (for an answer to a call), completed, failed or cancelled.
        error: null unless the run has failed or was cancelled.
    """

    run_id: str
    session_id: UUID
    client_id: str
    status: str
    error: RunError | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(cls, row: Invocation) -> "Run":
        error = RunError(code=row.error_code, message=row.error_message) if row.error_code else None
        return cls.from_row(row, run_id=row.invocation_id, error=error)


class RunQuery(PageQuery):
    """Filter of the list of runs."""

    status: InvocationStatus | None = Field(None, description="Lists only runs with this status.")


@router.get("/sessions/{session_id}/runs", response=Page[Run])
async def list_runs(request: HttpRequest, session_id: UUID, query: Query[RunQuery]) -> Page[Run]:
    """List the runs of a session, newest first."""
    session = await reachable_session(caller_of(request), session_id, Scope.READ)
    rows = session.invocations.without_details().defer("message", "past_attempts")
    if query.status is not None:
        rows = rows.filter(status=query.status)
    return await read_page(Page[Run], rows, NEWEST_FIRST, query, Run.of)


@router.post("/sessions/{session_id}/runs", response={202: Run})
async def start_run(
    request: HttpRequest, response: HttpResponse, session_id: UUID, message: NewRun
) -> Status[Run]:
    """Send a message. Its run begins when the earlier runs of the session have ended."""
    session = await reachable_session(caller_of(request), session_id, Scope.RUN)
    # The idempotency key is the client id as well, so a second attempt after a crash finds the run of the first.
    client_id = message.client_id or key_of(request) or uuid4().hex
    files = [(file.name, file.version) for file in message.files]
    admitted = await use_cases.send_message(
        actor_of(request, session.user),
        session_id,
        client_id,
        message.text,
        files,
        state_delta=message.state_delta,
    )
    response["Location"] = reverse("api-v1:get_run", args=[admitted.invocation_id])
    return await _accepted(caller_of(request), admitted.invocation_id, Scope.RUN)


@router.get("/runs/{run_id}", response=Run)
async def get_run(request: HttpRequest, run_id: str) -> Run:
    """Return a run with its status."""
    return Run.of(await reachable_run(caller_of(request), run_id, Scope.READ))


class RunAnswer(CallAnswer):
    """Answer to a call of the run that waits for an answer."""

    call_id: ClientId


@router.post("/runs/{run_id}/cancel", response={202: Run})
async def cancel(request: HttpRequest, run_id: str) -> Status[Run]:
    """Stop a run that is queued or running; a run that has ended stays as it is."""
    run = await reachable_run(caller_of(request), run_id, Scope.RUN)
    await use_cases.cancel(actor_of(request, run.session.user), run.session_id, run_id)
    return await _accepted(caller_of(request), run_id, Scope.RUN)


@router.post("/runs/{run_id}/retry", response={202: Run})
async def retry(request: HttpRequest, run_id: str) -> Status[Run]:
    """Retry the last run of a session, which failed: the run continues, or its message is sent again."""
    run = await reachable_run(caller_of(request), run_id, Scope.RUN)
    by = actor_of(request, run.session.user)
    retried = await use_cases.retry(by, run.session_id, run_id, retry_id=id_of_key(request))
    return await _accepted(caller_of(request), retried.invocation_id, Scope.RUN)


@router.post("/runs/{run_id}/edit", response={202: Run})
async def edit(request: HttpRequest, run_id: str, body: NewRun) -> Status[Run]:
    """Replace the message of a run by a new message. The run and all after it become an alternative.

    Refused with 409 while a run is queued or running.
    """
    run = await reachable_run(caller_of(request), run_id, Scope.RUN)
    files = [(file.name, file.version) for file in body.files]
    client_id = body.client_id or key_of(request) or uuid4().hex
    by = actor_of(request, run.session.user)
    edited = await use_cases.edit_message(
        by, run.session_id, client_id, body.text, run_id, files, state_delta=body.state_delta
    )
    return await _accepted(caller_of(request), edited.invocation_id, Scope.RUN)


@router.post("/runs/{run_id}/rewind", response={204: None})
async def rewind(request: HttpRequest, run_id: str) -> Status[None]:
    """Undo a run and all after it. They become an alternative. Refused with 409 while a run is queued or running."""
    run = await reachable_run(caller_of(request), run_id, Scope.RUN)
    await use_cases.rewind(actor_of(request, run.session.user), run.session_id, run_id)
    return Status(204, None)


@router.post("/runs/{run_id}/responses", response={202: Run})
async def respond(request: HttpRequest, run_id: str, body: RunAnswer) -> Status[Run]:
    """Answer a call of the run that waits: a long-running call, a confirmation or a choice.

    The first answer counts; later ones are refused with 409. The key of a service also answers the long-running
    calls that code of the site may answer. Returns the run that continues with the answer.
    """
    caller = caller_of(request)
    run = await reachable_run(caller, run_id, Scope.ANSWER)
    name, response = body.as_response()
    answering = await use_cases.answer_call(
        caller.actor_for(run.session.user),
        run.session_id,
        body.call_id,
        name,
        response,
        invocation_id=run_id,
        for_site=caller.is_service,
    )
    return await _accepted(caller, answering.invocation_id, Scope.ANSWER)


async def _accepted(caller: Caller, run_id: str, scope: Scope) -> Status[Run]:
    """Return the response with the current state of a run."""
    # Read again: the act has changed its row.
    return Status(202, Run.of(await reachable_run(caller, run_id, scope)))
