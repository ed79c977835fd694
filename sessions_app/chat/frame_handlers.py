"""Handlers of client frames. Each calls one use case; websocket and HTTP share them.

A new frame needs a model in `protocol.py` and a handler here.
"""

from __future__ import annotations

from functools import singledispatch
from uuid import UUID

from runtime.events.calls import REQUEST_CONFIRMATION
from sessions_app import use_cases
from sessions_app.base.actors import UserActor
from sessions_app.chat.protocol import (
    AnswerJob,
    Cancel,
    CancelJob,
    CancelSchedule,
    Choose,
    ClientFrame,
    Confirm,
    Message,
    Respond,
    Retry,
    Seen,
    Switch,
    WithdrawAllowance,
)
from sessions_app.invocations.answers.form_answers import ConfirmationForm, OptionForm
from sessions_app.live.notices import InvocationNotice
from sessions_app.rendering.questions import CHOICE_TOOL
from sessions_app.sessions.ownership import User


async def begin_session(first: Message, user: User, session_id: UUID, app_name: str, network: str) -> None:
    """Create the session of a new chat, before its first message is handled. Idempotent.

    Raises:
        AdkError: the message is refused; no session is created.
    """
    files = [(file.name, file.version) for file in first.files]
    await use_cases.begin_session(
        user, session_id, app_name, first.id, first.text, files, network, first.model
    )


@singledispatch
async def handle_frame(frame: ClientFrame, by: UserActor, session_id: UUID) -> InvocationNotice | None:
    """Call the use case of a frame. Return a reply for the tab; None for most frames.

    Websockets ignore the reply: their viewer is in this process and gets the same notice from the hub. A tab with an
    event stream may have its viewer in another process, which may miss the notice.

    Raises:
        AdkError: the use case refuses the frame.
    """
    raise NotImplementedError(f"Register a handler for {type(frame).__name__} frames.")


@handle_frame.register
async def _message(frame: Message, by: UserActor, session_id: UUID) -> InvocationNotice:
    files = [(file.name, file.version) for file in frame.files]
    if frame.replaces is None:
        admitted = await use_cases.send_message(
            by, session_id, frame.id, frame.text, files, model=frame.model
        )
    else:
        admitted = await use_cases.edit_message(
            by, session_id, frame.id, frame.text, frame.replaces, files, model=frame.model
        )
    invocation_id, status = admitted
    return InvocationNotice(invocation_id, frame.id, status)


@handle_frame.register
async def _switch(frame: Switch, by: UserActor, session_id: UUID) -> None:
    await use_cases.switch_alternative(by, session_id, frame.seq)


@handle_frame.register
async def _cancel(frame: Cancel, by: UserActor, session_id: UUID) -> None:
    await use_cases.cancel(by, session_id, frame.invocation_id)


@handle_frame.register
async def _seen(frame: Seen, by: UserActor, session_id: UUID) -> None:
    await use_cases.mark_seen(by.user, session_id, frame.seq)


@handle_frame.register
async def _retry(frame: Retry, by: UserActor, session_id: UUID) -> None:
    await use_cases.retry(by, session_id, frame.invocation_id)


@handle_frame.register
async def _cancel_job(frame: CancelJob, by: UserActor, session_id: UUID) -> None:
    await use_cases.cancel_job(by, session_id, frame.id)


@handle_frame.register
async def _cancel_schedule(frame: CancelSchedule, by: UserActor, session_id: UUID) -> None:
    await use_cases.cancel_schedule(by, session_id, frame.id)


@handle_frame.register
async def _answer_job(frame: AnswerJob, by: UserActor, session_id: UUID) -> None:
    await use_cases.answer_job(by, session_id, frame.id, frame.number, frame.answer)


@handle_frame.register
async def _confirm(frame: Confirm, by: UserActor, session_id: UUID) -> None:
    answer = ConfirmationForm(frame.confirmed, frame.changes, frame.payload, frame.for_session)
    await use_cases.answer_call(by, session_id, frame.call_id, REQUEST_CONFIRMATION, answer)


@handle_frame.register
async def _choose(frame: Choose, by: UserActor, session_id: UUID) -> None:
    await use_cases.answer_call(by, session_id, frame.call_id, CHOICE_TOOL, OptionForm(frame.option))


@handle_frame.register
async def _withdraw_allowance(frame: WithdrawAllowance, by: UserActor, session_id: UUID) -> None:
    await use_cases.withdraw_allowance(by, session_id, frame.agent, frame.tool)


@handle_frame.register
async def _respond(frame: Respond, by: UserActor, session_id: UUID) -> None:
    await use_cases.answer_call(by, session_id, frame.call_id, frame.name, frame.response)
