"""Use cases about messages and their invocations: send, edit, rewind, cancel, retry, rate the answer.

Requests are safe to repeat: browsers and programs send them again after a lost connection. A message has the client id
of its sender, and a unique constraint lets one invocation start for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from runtime import types
from runtime.context import new_invocation_id
from runtime.valid_text import storable
from sessions_app.base import client_ids
from sessions_app.base.actors import Actor, UserActor
from sessions_app.base.codec import content_to_json
from sessions_app.conf import conf
from sessions_app.errors import ConflictError, InvalidInputError, NotFoundError, TooLargeError
from sessions_app.invocations import titles
from sessions_app.invocations.cancel import cancel_invocation
from sessions_app.invocations.chosen_model import choice_of_model
from sessions_app.invocations.retry import failed_invocation, invocation_of_retry, must_restart, queue_again
from sessions_app.invocations.rewind import rewind_before, switch_to
from sessions_app.invocations.state_delta import validated_delta
from sessions_app.invocations.worker import worker
from sessions_app.live.notices import invocation_notice
from sessions_app.live.process import live
from sessions_app.models import Session
from sessions_app.process.threads import in_thread
from sessions_app.sessions import feedback
from sessions_app.sessions.agent_access import own_usable_session, usable_app
from sessions_app.sessions.list import changes
from sessions_app.sessions.ownership import NO_SESSION, User, own_session
from sessions_app.store import uploads
from sessions_app.store.sql.invocation_queue import Admitted, NewInvocation
from sessions_app.store.uploads import FileName
from sessions_app.use_cases.sessions import create_session


@dataclass(frozen=True)
class NewChat:
    """Session that a first message creates, if it does not exist yet.

    Attributes:
        network: network of the client, for its quota; empty without a client.
        on_created: called when the session exists, before the invocation starts.
    """

    session_id: UUID
    app_name: str
    network: str = ""
    on_created: Callable[[], None] | None = None


async def send_message(
    by: UserActor,
    chat: UUID | NewChat,
    client_id: str,
    text: str,
    files: Sequence[FileName] = (),
    *,
    state_delta: Mapping[str, Any] | None = None,
    model: str | None = None,
    invocation_id: str = "",
) -> Admitted:
    """Queue a message and start its invocation. Idempotent: a repeated client id starts nothing.

    Args:
        chat: id of the user's session, or the session to begin. A message that is refused for its own sake begins none.
        files: uploads of the session. In a new chat, their upload has created the session.
        state_delta: state changes to commit with the message.
        model: see `choice_of_model`.
        invocation_id: id of the invocation; a new id by default.

    Raises:
        InvalidInputError: the message or the state delta is empty or too long, the client id has a reserved prefix, or
            the model is not offered.
        AgentClosedError: the user may not use the app.
        PermissionDeniedError: the state delta changes state of the app.
        NotFoundError: the user has no such session, or the session no such upload; or see `create_session`.
        ConflictError: another message is being answered, and the app's queue policy is `reject`.
        LimitExceededError: too many messages of the user are queued; or see `create_session`.
    """
    client_ids.refuse_reserved(client_id)
    text = validated_text(text, has_files=bool(files))
    delta = {}
    session = None
    if isinstance(chat, NewChat):
        session_id = chat.session_id
        # All checks come first: a refused message must not leave an empty session.
        await usable_app(by.user, chat.app_name)
        delta = await _state_changes(chat.app_name, by, None, state_delta, model)
        session = await _begin_session(by.user, chat, has_files=bool(files))
    else:
        session_id = chat
        # If all apps are open, a message of text only needs no query here: the statement that queues it checks the
        # owner.
        if files or state_delta or model is not None or conf().closes_apps:
            session = await own_usable_session(by.user, session_id)
            delta = await _state_changes(session.app_name, by, session_id, state_delta, model)
    parts = [types.Part(text=text)] if text else []
    if session is not None and files:
        parts += [reference.as_part() for reference in await in_thread(uploads.references_to, session, files)]
    new = NewInvocation(
        session_id,
        user_id=by.user_pk,
        client_id=client_id,
        invocation_id=invocation_id or new_invocation_id(),
        message=content_to_json(types.Content(role="user", parts=parts)),
        by=by,
        title=changes.title_from(text or files[0][0]),
        state_delta=delta,
    )
    queued = await worker().start(new, obeys_queue_policy=True)
    return queued.admitted


async def _begin_session(user: User, chat: NewChat, *, has_files: bool) -> Session:
    if has_files:
        try:
            session = await own_usable_session(user, chat.session_id)
        except NotFoundError as error:
            raise NotFoundError("The files of the message are no longer here. Attach them again.") from error
    else:
        session = await create_session(user, chat.app_name, chat.network, session_id=chat.session_id)
    if session.app_name != chat.app_name:  # Two first messages may race, each with an app of its own.
        raise NotFoundError(NO_SESSION)
    if chat.on_created:
        chat.on_created()
    return session


async def _state_changes(
    app_name: str,
    by: UserActor,
    session_id: UUID | None,
    state_delta: Mapping[str, Any] | None,
    model: str | None,
) -> dict[str, Any]:
    changed = {**(state_delta or {}), **choice_of_model(app_name, model)}
    return await validated_delta(app_name, by.user_pk, session_id, changed)


async def edit_message(
    by: UserActor,
    session_id: UUID,
    client_id: str,
    text: str,
    replaces: str,
    files: Sequence[FileName] = (),
    *,
    state_delta: Mapping[str, Any] | None = None,
    model: str | None = None,
) -> Admitted:
    """Replace an earlier message: rewind to before it, and send the new message (contract R3).

    Idempotent: repeated calls with the same client id leave one new message, even after a crash half-way. Returns and
    raises the same as `send_message`; also raises a ConflictError if an invocation is active in the session.

    Args:
        replaces: id of the invocation of the earlier message.
    """
    # `send_message` repeats these checks. A refusal after the rewind would leave the session without its message.
    client_ids.refuse_reserved(client_id)
    text = validated_text(text, has_files=bool(files))
    session = await own_usable_session(by.user, session_id)
    await in_thread(uploads.references_to, session, files)
    await _state_changes(session.app_name, by, session_id, state_delta, model)
    try:
        await rewind_before(session, replaces, by)
    except (ConflictError, NotFoundError):
        # A repeated request finds the earlier message rewound, or its own invocation running.
        is_repeated = await in_thread(session.invocations.filter(client_id=client_id).exists)
        if not is_repeated:
            raise
    else:
        keeps = titles.may_get_title_again(session, by)
        await in_thread(changes.forget_title_of_first_message, session, keeps_title_of_model=keeps)
    return await send_message(by, session_id, client_id, text, files, state_delta=state_delta, model=model)


async def rewind(by: UserActor, session_id: UUID, invocation_id: str) -> None:
    """Undo an invocation and everything after it (contract R3). Idempotent until the next message.

    Raises the same as `edit_message`.
    """
    session = await own_usable_session(by.user, session_id)
    await rewind_before(session, invocation_id, by)
    await in_thread(changes.forget_title_of_first_message, session)


async def switch_alternative(by: UserActor, session_id: UUID, seq: int) -> None:
    """Bring back the alternative with the event `seq`, as it was left. Raises the same as `edit_message`."""
    await switch_to(await own_usable_session(by.user, session_id), seq, by)


async def cancel(by: UserActor, session_id: UUID, invocation_id: str) -> None:
    """Cancel a queued or running invocation. An invocation that has ended stays as it is.

    Raises:
        NotFoundError: the user has no such session, or the session no such invocation.
    """
    await cancel_invocation(await own_session(by.user, session_id), invocation_id, by=by)


async def retry(
    by: UserActor, session_id: UUID, invocation_id: str, *, retry_id: UUID | None = None
) -> Admitted:
    """Retry the session's last invocation after a failure.

    The invocation resumes from its events. If its agents cannot be resumed, its message is sent again as a new
    invocation.

    Args:
        retry_id: id of the request; a repeated request returns the invocation that the first request began.

    Raises:
        NotFoundError: the user has no such session, or the session no such invocation.
        AgentClosedError: the user may not use the app.
        ConflictError: the invocation did not fail, is being retried already, or is not the last invocation.
        LimitExceededError: too many messages of the user are queued.
    """
    session = await own_usable_session(by.user, session_id)
    # First: a retried invocation no longer counts as failed, so the checks below would refuse the repetition.
    if retry_id and (queued := await invocation_of_retry(session, invocation_id, retry_id)):
        return Admitted(queued.invocation_id, queued.status)
    failed = await failed_invocation(session, invocation_id)
    if await must_restart(session, failed):
        again = NewInvocation(
            session_id,
            user_id=by.user_pk,
            client_id=client_ids.of_retry(invocation_id),
            message=failed.message,
            by=by,
            state_delta=failed.state_delta,
        )
        started = await worker().start(again)
        return started.admitted
    return await start_again(session, invocation_id, by, retry_id)


async def start_again(
    session: Session, invocation_id: str, by: Actor, retry_id: UUID | None = None
) -> Admitted:
    """Run the session's last invocation from its events again, after a failure.

    Raises:
        NotFoundError: the session has no such invocation.
        ConflictError: see `retry`.
    """
    row = await queue_again(session, invocation_id, by, retry_id)
    notice = invocation_notice(row.invocation_id, row.client_id, row.status)
    live().hub.publish_notice(session.pk, notice)
    await worker().start_next(session.pk)
    return Admitted(row.invocation_id, row.status)


async def give_feedback(user: User, session_id: UUID, seq: int, rating: str, comment: str) -> None:
    """Store the user's opinion of an answer, replacing an earlier opinion; without a rating, withdraw it.

    Raises:
        NotFoundError: the user has no such session, or the session no such answer.
        InvalidInputError: there is no such rating, or the comment is too long.
    """
    session = await own_session(user, session_id)
    if rating:
        await in_thread(feedback.give_feedback, session, seq, rating, comment)
    else:
        await in_thread(feedback.withdraw_feedback, session, seq)


def validated_text(text: str, *, has_files: bool) -> str:
    """Return the text to store; empty for a message with files only.

    Raises:
        InvalidInputError: the message is empty.
        TooLargeError: the message is too long.
    """
    if not text.strip() and not has_files:
        raise InvalidInputError("The message is empty. Write something first.", field="text")
    if len(text) > conf().message_limit:
        raise TooLargeError(
            f"The message has {len(text)} characters; the limit is {conf().message_limit}. Send it in parts.",
            field="text",
        )
    return storable(text) if text.strip() else ""
