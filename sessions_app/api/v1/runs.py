"""Runs: a message and the work on it, up to its answer. A run continues when nobody reads its stream."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID, uuid4

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Query, Router, Schema, Status
from pydantic import Field, StringConstraints

from sessions_app import use_cases
from sessions_app.api.access.callers import actor_of, caller_of
from sessions_app.api.idempotency import key_of
from sessions_app.api.pages import NEWEST_FIRST, Page, PageQuery, RowSchema, read_page
from sessions_app.api.reachable import reachable_run, reachable_session
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
    def of(cls, row: Invocation) -> Run:
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
    run_id, _ = await use_cases.send_message(
        actor_of(request, session.user),
        session_id,
        client_id,
        message.text,
        files,
        state_delta=message.state_delta,
    )
    response["Location"] = reverse("api-v1:get_run", args=[run_id])
    return Status(202, Run.of(await reachable_run(caller_of(request), run_id, Scope.RUN)))


@router.get("/runs/{run_id}", response=Run)
async def get_run(request: HttpRequest, run_id: str) -> Run:
    """Return a run with its status."""
    return Run.of(await reachable_run(caller_of(request), run_id, Scope.READ))
