"""Acts on runs: stop, retry, replace, undo, and answer the calls that wait."""

from __future__ import annotations

from uuid import uuid4

from django.http import HttpRequest
from ninja import Router, Status

from sessions_app import use_cases
from sessions_app.api.access.callers import Caller, actor_of, caller_of
from sessions_app.api.idempotency import id_of_key, key_of
from sessions_app.api.reachable import reachable_run
from sessions_app.api.v1.answers import CallAnswer
from sessions_app.api.v1.runs import ClientId, NewRun, Run
from sessions_app.models import Scope

router = Router(tags=["runs"])


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
    answering, _ = await use_cases.retry(by, run.session_id, run_id, retry_id=id_of_key(request))
    return await _accepted(caller_of(request), answering, Scope.RUN)


@router.post("/runs/{run_id}/edit", response={202: Run})
async def edit(request: HttpRequest, run_id: str, body: NewRun) -> Status[Run]:
    """Replace the message of a run by a new message. The run and all after it become an alternative.

    Refused with 409 while a run is queued or running.
    """
    run = await reachable_run(caller_of(request), run_id, Scope.RUN)
    files = [(file.name, file.version) for file in body.files]
    client_id = body.client_id or key_of(request) or uuid4().hex
    by = actor_of(request, run.session.user)
    new, _ = await use_cases.edit_message(
        by, run.session_id, client_id, body.text, run_id, files, state_delta=body.state_delta
    )
    return await _accepted(caller_of(request), new, Scope.RUN)


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
    answering, _ = await use_cases.answer_call(
        caller.actor_for(run.session.user),
        run.session_id,
        body.call_id,
        name,
        response,
        invocation_id=run_id,
        for_site=caller.is_service,
    )
    return await _accepted(caller, answering, Scope.ANSWER)


async def _accepted(caller: Caller, run_id: str, scope: Scope) -> Status[Run]:
    """Return the response with the current state of a run."""
    # Read again: the act has changed its row.
    return Status(202, Run.of(await reachable_run(caller, run_id, scope)))
