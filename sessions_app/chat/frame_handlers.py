"""Handlers of client frames. Each calls one use case; websocket and HTTP share them.

A new frame needs a model in `protocol.py` and a handler here.
"""

from functools import singledispatch
from uuid import UUID

from runtime.events.calls import CHOICE_TOOL, REQUEST_CONFIRMATION
from sessions_app import use_cases
from sessions_app.base.actors import UserActor
from sessions_app.chat import protocol
from sessions_app.conf import conf
from sessions_app.errors import LimitExceededError, TooLargeError
from sessions_app.invocations.answers.form_answers import ConfirmationForm, OptionForm
from sessions_app.limits import quotas
from sessions_app.limits.rates import rates
from sessions_app.live.notices import InvocationNotice
from sessions_app.sessions.ownership import User
from sessions_app.use_cases import NewChat


async def handle_message(
    frame: protocol.Message, by: UserActor, session_id: UUID, new_chat: NewChat | None
) -> InvocationNotice:
    """Send the message of a frame, or edit an earlier one. Return a reply for the tab.

    Websockets ignore the reply: their viewer is in this process and gets the same notice from the hub. A tab with an
    event stream may have its viewer in another process, which may miss the notice.

    Args:
        new_chat: session to create for the message; None if it exists.

    Raises:
        AdkError: the use case refuses the frame.
    """
    files = [(file.name, file.version) for file in frame.files]
    if frame.replaces is None:
        admitted = await use_cases.send_message(
            by, new_chat or session_id, frame.id, frame.text, files, model=frame.model
        )
    else:
        admitted = await use_cases.edit_message(
            by, session_id, frame.id, frame.text, frame.replaces, files, model=frame.model
        )
    return InvocationNotice(admitted.invocation_id, frame.id, admitted.status)


@singledispatch
async def handle_frame(frame: protocol.ClientFrame, by: UserActor, session_id: UUID) -> None:
    """Call the use case of a frame other than a message.

    Raises:
        AdkError: the use case refuses the frame.
    """
    raise NotImplementedError(f"Register a handler for {type(frame).__name__} frames.")


@handle_frame.register
async def _switch(frame: protocol.Switch, by: UserActor, session_id: UUID) -> None:
    await use_cases.switch_alternative(by, session_id, frame.seq)


@handle_frame.register
async def _cancel(frame: protocol.Cancel, by: UserActor, session_id: UUID) -> None:
    await use_cases.cancel(by, session_id, frame.invocation_id)


@handle_frame.register
async def _seen(frame: protocol.Seen, by: UserActor, session_id: UUID) -> None:
    await use_cases.mark_seen(by.user, session_id, frame.seq)


@handle_frame.register
async def _retry(frame: protocol.Retry, by: UserActor, session_id: UUID) -> None:
    await use_cases.retry(by, session_id, frame.invocation_id)


@handle_frame.register
async def _cancel_job(frame: protocol.CancelJob, by: UserActor, session_id: UUID) -> None:
    await use_cases.cancel_job(by, session_id, frame.id)


@handle_frame.register
async def _cancel_schedule(frame: protocol.CancelSchedule, by: UserActor, session_id: UUID) -> None:
    await use_cases.cancel_schedule(by, session_id, frame.id)


@handle_frame.register
async def _answer_job(frame: protocol.AnswerJob, by: UserActor, session_id: UUID) -> None:
    await use_cases.answer_job(by, session_id, frame.id, frame.number, frame.answer)


@handle_frame.register
async def _confirm(frame: protocol.Confirm, by: UserActor, session_id: UUID) -> None:
    answer = ConfirmationForm(frame.confirmed, frame.changes, frame.payload, frame.for_session)
    await use_cases.answer_call(by, session_id, frame.call_id, REQUEST_CONFIRMATION, answer)


@handle_frame.register
async def _choose(frame: protocol.Choose, by: UserActor, session_id: UUID) -> None:
    await use_cases.answer_call(by, session_id, frame.call_id, CHOICE_TOOL, OptionForm(frame.option))


@handle_frame.register
async def _withdraw_allowance(frame: protocol.WithdrawAllowance, by: UserActor, session_id: UUID) -> None:
    await use_cases.withdraw_allowance(by, session_id, frame.agent, frame.tool)


@handle_frame.register
async def _respond(frame: protocol.Respond, by: UserActor, session_id: UUID) -> None:
    await use_cases.answer_call(by, session_id, frame.call_id, frame.name, frame.response)


def count_frame(text: str, user: User, network: str) -> None:
    """Count a frame and check its size.

    Raises:
        LimitExceededError: the user or the client's network has sent too many frames in this minute.
        TooLargeError: the frame has more than `frame_limit` characters.
    """
    # The rate first: frames that are too large count as well.
    if exceeded := rates().count(quotas.frames(user.pk, network)):
        raise LimitExceededError(f"Requests are limited to {exceeded.quota.most} a minute. Wait a minute.")
    if len(text) > conf().frame_limit:
        raise TooLargeError(f"The frame is larger than {conf().frame_limit} characters.")
