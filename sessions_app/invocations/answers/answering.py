"""Answers to long-running calls: the permission to answer, and the invocation that continues with the answer.

An answer is an invocation whose message is a function response. Its client id is made from the call id, so the first
answer counts, whoever gives it: the person, staff, a program or an escalation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext_noop

from runtime import types
from runtime.engine.human_input.confirmation import read_confirmation
from runtime.engine.human_input.credentials import extract_credentials
from runtime.engine.human_input.inputs import check_inputs
from runtime.errors import InvalidAnswerError
from runtime.events.calls import (
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    find_call_event,
    find_pending_call,
)
from runtime.events.event import Event as RuntimeEvent
from runtime.events.tool_confirmation import offers_allowance
from runtime.valid_text import storable
from sessions_app.base import client_ids
from sessions_app.base.actors import Actor
from sessions_app.base.codec import check_storable, content_to_json
from sessions_app.errors import ConflictError, InvalidInputError, NotFoundError, PermissionDeniedError
from sessions_app.history.effective_events import effective_events
from sessions_app.invocations.waiting_calls import answered_by_of
from sessions_app.invocations.worker import worker
from sessions_app.models import Invocation, Session, ToolJob
from sessions_app.models.answer_request import AnswerRefusal, refusal_to_owner, refusal_to_staff
from sessions_app.process.threads import in_thread
from sessions_app.secrets.credential_encryption import encrypt
from sessions_app.sessions.ownership import User
from sessions_app.store.sql.invocation_queue import Admitted, NewInvocation

RESPONSE = "response"
"""Field of the answer in requests, for errors."""
STAFF_DECIDE = gettext_noop("Staff decide this. You can only withdraw it; their answer appears here.")


@dataclass(frozen=True)
class CallToAnswer:
    """A call waiting for an answer.

    Attributes:
        answered_by: the party that may answer: see `AnswerRequest`.
        events: the effective events of the session.
    """

    id: str
    name: str
    args: dict[str, Any]
    invocation_id: str
    answered_by: str
    events: list[RuntimeEvent]


async def find_call_to_answer(
    session: Session, call_id: str, *, name: str | None = None, invocation_id: str | None = None
) -> CallToAnswer:
    """Return the call with this id, if it waits for an answer.

    Args:
        name: expected name of the called function; None for any.
        invocation_id: expected invocation of the call; None for any.

    Raises:
        NotFoundError: the session has no such call, or the call is of another function or invocation.
        PermissionDeniedError: a job answers the call.
        ConflictError: the call was answered already.
    """
    if await in_thread(ToolJob.objects.filter(session=session, call_id=call_id).exists):
        raise PermissionDeniedError("This call is answered by its job, not by a person.")
    events = await effective_events(session)
    waiting = find_pending_call(events, call_id)
    if waiting is None and find_call_event(events, call_id) is not None:
        raise await in_thread(already_answered_error, session, call_id)
    if waiting is None or not waiting.call.name:
        raise NotFoundError("There is no such question in this chat.")
    if name is not None and waiting.call.name != name:
        raise NotFoundError("There is no such question in this chat.")
    if invocation_id is not None and waiting.event.invocation_id != invocation_id:
        raise NotFoundError("Another run asks this question. Answer it there.")
    answered_by = await answered_by_of(session.app_name, waiting)
    return CallToAnswer(
        id=call_id,
        name=waiting.call.name,
        args=waiting.call.args or {},
        invocation_id=waiting.event.invocation_id,
        answered_by=answered_by,
        events=events,
    )


async def check_may_answer(
    user: User, session: Session, call: CallToAnswer, response: Mapping[str, Any], *, for_site: bool = False
) -> None:
    """Check that the tool of the call lets this user give this answer.

    Args:
        user: the owner of the session, or staff.
        for_site: see `refusal_to_owner`.

    Raises:
        PermissionDeniedError: the user may not give this answer.
    """
    if user.pk == session.user_id:
        refusal = refusal_to_owner(call.answered_by, is_no=_is_no(call, response), for_site=for_site)
    else:
        refusal = await in_thread(_refusal_to_other, user, call)
    if refusal is None:
        return
    if refusal is AnswerRefusal.FOUR_EYES and call.name == REQUEST_CONFIRMATION:
        raise PermissionDeniedError(STAFF_DECIDE)
    raise PermissionDeniedError(f"You may not answer this call of {call.name!r}: somebody else decides it.")


async def queue_answer(
    session: Session,
    call: CallToAnswer,
    response: dict[str, Any],
    *,
    by: Actor,
    reason: str = "",
    state_delta: Mapping[str, Any] | None = None,
) -> Admitted:
    """Queue the answer as an invocation. Its row keeps the actor.

    Credentials are taken out of the answer and stored encrypted.

    Raises:
        ConflictError: the call was answered already.
        InvalidInputError: the answer to a request for a confirmation or a credential cannot be read, the answer does
            not fit the schema of a workflow's question, it allows more than the question offers, or it is nested too
            deeply.
        NotFoundError: the session was deleted in the meantime.
    """
    part = types.FunctionResponse(id=call.id, name=call.name, response=response)
    content = types.Content(role="user", parts=[types.Part(function_response=part)])
    check_storable(RuntimeEvent(content=content), RESPONSE)
    _check_confirmation(call, response)
    try:
        check_inputs(content, call.events)
        content, credentials = extract_credentials(content, call.events)
    except InvalidAnswerError as error:
        raise InvalidInputError(str(error), field=RESPONSE) from None
    new = NewInvocation(
        session.pk,
        user_id=session.user_id,
        client_id=client_ids.of_answer(call.id),
        message=content_to_json(content),
        by=by,
        reason=reason,
        credentials=encrypt(credentials),
        state_delta=state_delta,
    )
    queued = await worker().start(new)
    if queued.is_repeated:
        raise await in_thread(already_answered_error, session, call.id)
    # Now rather than with the events of the answer: the inbox should not offer the call any longer.
    await in_thread(session.answer_requests.filter(call_id=call.id).delete)
    return queued.admitted


async def find_answer(session_id: UUID, call_id: str, response: Mapping[str, Any]) -> Invocation | None:
    """Return the invocation that has given this answer to a call; None if there is none, or of another answer.

    A credential is not stored, so every later answer to a request for one counts as the same.
    """
    rows = Invocation.objects.filter(session_id=session_id, client_id=client_ids.of_answer(storable(call_id)))
    row = await in_thread(rows.first)
    for part in row.message["parts"] if row else ():
        given = part.get("functionResponse", {})
        if given.get("name") == REQUEST_CREDENTIAL or given.get("response") == response:
            return row
    return None


def already_answered_error(session: Session, call_id: str) -> ConflictError:
    """Return the error for an answered call. The message names who answered, and the yes or no if known."""
    job = session.jobs.filter(call_id=call_id).first()
    if job and job.answers:
        return ConflictError(f"This was answered already by {job.answers[-1]['by']}.")
    answer = session.invocations.filter(client_id=client_ids.of_answer(call_id)).first()
    if answer is None or not answer.actor_name:
        return ConflictError("This was answered already.")
    parts = types.Content.model_validate(answer.message).parts or [types.Part()]
    response = parts[0].function_response
    verdict = (response.response or {}).get("confirmed") if response else None
    if verdict is True:
        return ConflictError(f"This was approved already by {answer.actor_name}.")
    if verdict is False:
        return ConflictError(f"This was rejected already by {answer.actor_name}.")
    return ConflictError(f"This was answered already by {answer.actor_name}.")


def _check_confirmation(call: CallToAnswer, response: dict[str, Any]) -> None:
    if call.name != REQUEST_CONFIRMATION:
        return
    answer = types.FunctionResponse(id=call.id, name=call.name, response=response)
    try:
        is_for_session = read_confirmation(answer).for_session
    except InvalidAnswerError as error:
        raise InvalidInputError(str(error), field=RESPONSE) from None
    if is_for_session and not offers_allowance(call.args):
        raise InvalidInputError(
            "This question does not offer to allow later calls. Approve or reject this call.",
            field="for_session",
        )


def _is_no(call: CallToAnswer, response: Mapping[str, Any]) -> bool:
    return call.name == REQUEST_CONFIRMATION and response.get("confirmed") is False


def _refusal_to_other(user: User, call: CallToAnswer) -> AnswerRefusal | None:
    """Return why a user other than the owner of the session may not answer; None if the user may."""

    def permits(permission: str) -> bool:
        return bool(getattr(user, "is_staff", False)) and bool(user.has_perm(permission))  # type: ignore[union-attr]

    is_credential = call.name == REQUEST_CREDENTIAL
    return refusal_to_staff(call.answered_by, is_credential=is_credential, is_owner=False, permits=permits)
