"""What a browser asks for by a frame, as the use case that does it (design.md, "Websocket protocol")."""

from __future__ import annotations

from functools import singledispatch
from uuid import UUID

from runtime.events.calls import REQUEST_CONFIRMATION
from sessions_app import use_cases
from sessions_app.chat.protocol import (
    AnswerJob,
    Cancel,
    CancelJob,
    CancelSchedule,
    ClientFrame,
    Confirm,
    Message,
    Respond,
    Retry,
)
from sessions_app.use_cases import User


@singledispatch
async def carry_out(frame: ClientFrame, user: User, session_id: UUID) -> None:
    """Do what the frame asks for.

    Raises:
        AdkError: as the use case does.
    """
    raise NotImplementedError(f"Nothing is to be done for {type(frame).__name__} frames here.")


@carry_out.register
async def _message(frame: Message, user: User, session_id: UUID) -> None:
    if frame.replaces is None:
        await use_cases.send_message(user, session_id, frame.id, frame.text)
    else:
        await use_cases.edit_message(user, session_id, frame.id, frame.text, frame.replaces)


@carry_out.register
async def _cancel(frame: Cancel, user: User, session_id: UUID) -> None:
    await use_cases.cancel(user, session_id, frame.invocation_id)


@carry_out.register
async def _retry(frame: Retry, user: User, session_id: UUID) -> None:
    await use_cases.retry(user, session_id, frame.invocation_id)


@carry_out.register
async def _cancel_job(frame: CancelJob, user: User, session_id: UUID) -> None:
    await use_cases.cancel_job(user, session_id, frame.id)


@carry_out.register
async def _cancel_schedule(frame: CancelSchedule, user: User, session_id: UUID) -> None:
    await use_cases.cancel_schedule(user, session_id, frame.id)


@carry_out.register
async def _answer_job(frame: AnswerJob, user: User, session_id: UUID) -> None:
    await use_cases.answer_job(user, session_id, frame.id, frame.number, frame.answer)


@carry_out.register
async def _confirm(frame: Confirm, user: User, session_id: UUID) -> None:
    answer = {"confirmed": frame.confirmed, "payload": frame.payload}
    await use_cases.answer_call(user, session_id, frame.call_id, REQUEST_CONFIRMATION, answer)


@carry_out.register
async def _respond(frame: Respond, user: User, session_id: UUID) -> None:
    await use_cases.answer_call(user, session_id, frame.call_id, frame.name, frame.response)
