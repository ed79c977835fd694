"""Use cases of a user, one function each: check ownership, validate, call a service. Views and frames call these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import ceil
from typing import Any
from uuid import UUID, uuid4

from runtime import types
from runtime.errors import AlreadyExistsError
from sessions_app import actors, client_ids, feedback
from sessions_app.agent_registry import get_app
from sessions_app.codec import content_to_json
from sessions_app.conf import conf
from sessions_app.db import invocation_queue
from sessions_app.db.threads import in_thread
from sessions_app.errors import ConflictError, LimitExceededError, NotFoundError
from sessions_app.invocations.allowances import withdraw
from sessions_app.invocations.answering import answerer, check_may_answer, find_waiting_call, queue_answer
from sessions_app.invocations.cancel import cancel_invocation
from sessions_app.invocations.form_answers import FormAnswer
from sessions_app.invocations.message_text import validated_text
from sessions_app.invocations.retry import failed_invocation, must_restart, queue_again, queued_by
from sessions_app.invocations.rewind import rewind_before, switch_to
from sessions_app.invocations.state_delta import validated_delta
from sessions_app.invocations.worker import worker
from sessions_app.limits import allowance
from sessions_app.limits.rates import rates
from sessions_app.live.notices import invocation_notice
from sessions_app.live.process import live
from sessions_app.models import Session
from sessions_app.ownership import NO_SESSION, User, own_session
from sessions_app.services import uploads
from sessions_app.services.session_service import DjangoSessionService
from sessions_app.services.uploads import FileName
from sessions_app.session_list import changes
from sessions_app.thread_pools import limit_threads


async def create_session(
    user: User, app_name: str, network: str = "", *, session_id: UUID | None = None
) -> Session:
    """Create a session of the user with an app of the site.

    Args:
        network: address by which the client is counted; empty without a client.
        session_id: primary key and key of the session. Idempotent with one: the user's session is returned if it
            exists.

    Raises:
        NotFoundError: the site has no such app, or the session belongs to someone else or is deleted.
        LimitExceededError: the user, or the people at the address, have created too many sessions.
    """
    app = get_app(app_name)
    pk = session_id or uuid4()
    if session_id is None or not await in_thread(Session.objects.filter(pk=pk).exists):
        await count_new_session(user, network)
        with suppress(AlreadyExistsError):  # another tab has just created it
            await DjangoSessionService().create_session(
                app_name=app.name, user_id=str(user.pk), session_id=str(pk), pk=pk
            )
    return await own_session(user, pk)


async def begin_session(
    user: User,
    session_id: UUID,
    app_name: str,
    client_id: str,
    text: str,
    files: Sequence[FileName] = (),
    network: str = "",
) -> None:
    """Create a session for its first message, which is sent next. Idempotent.

    Raises:
        InvalidInputError: the message cannot be sent; no session is created.
        NotFoundError: the message has files, whose upload would have created the session; or see `create_session`.
        LimitExceededError: see `create_session`.
    """
    client_ids.refuse_reserved(client_id)
    validated_text(text, has_files=bool(files))
    if not files:
        await create_session(user, app_name, network, session_id=session_id)
    elif not await in_thread(Session.objects.owned_by(user).filter(pk=session_id).exists):
        raise NotFoundError("The files of the message are no longer here. Attach them again.")


async def count_new_session(user: User, network: str) -> None:
    exceeded = await limit_threads.run(rates().count_now, allowance.new_sessions(user.pk, network))
    if exceeded is not None:
        minutes = ceil(exceeded.seconds / 60)
        raise LimitExceededError(
            f"{exceeded.allowance.most} conversations were begun here within an hour. Try again in {minutes} "
            "minutes, or go on in one that you have.",
            retry_seconds=exceeded.seconds,
        )


async def change_session(user: User, session_id: UUID, change: str, title: str = "") -> None:
    """Make one of the `CHANGES` of `session_list.changes` to the user's session; `restore` undoes a deletion, once.

    Raises:
        NotFoundError: the user has no such session, or it is erased already.
        InvalidInputError: the new title is empty or too long.
        LegalHoldError: the session must not be deleted.
    """
    if change == changes.RESTORE:
        session = await in_thread(Session.objects.of_user(user).filter(pk=session_id).first)
        if session is None:
            raise NotFoundError(changes.GONE)
        if session.deleted_at is None:
            return
    else:
        session = await own_session(user, session_id)
    await in_thread(changes.change_session, session, change, title, actors.person(user))
    live().list_news.publish(user.pk)
    if change == changes.DELETE:
        live().hub.receive_deletion(session_id)


async def mark_seen(user: User, session_id: UUID, seq: int) -> None:
    """Note that the user has seen the session up to the event `seq`, so that it no longer counts as unread."""
    own = Session.objects.owned_by(user).filter(pk=session_id)
    if await in_thread(changes.mark_seen, own, seq):
        live().list_news.publish(user.pk)


async def send_message(
    user: User,
    session_id: UUID,
    client_id: str,
    text: str,
    files: Sequence[FileName] = (),
    *,
    state_delta: Mapping[str, Any] | None = None,
) -> tuple[str, str]:
    """Queue a message and start its invocation. Idempotent: a repeated client id starts nothing.

    Returns the invocation's id and its current status.

    Args:
        files: uploads of the session that the message refers to.
        state_delta: changes of the state that are committed with the message.

    Raises:
        InvalidInputError: the message or the state delta is empty or too long, or the client id has a prefix of the
            site.
        PermissionDeniedError: the state delta changes state that is not the user's.
        NotFoundError: the user has no such session, or the session no such upload.
        ConflictError: another message is being answered, and the app's queue policy is `reject`.
        LimitExceededError: too many messages of the user wait for their turn.
    """
    client_ids.refuse_reserved(client_id)
    text, delta = validated_text(text, has_files=bool(files)), {}
    parts = [types.Part(text=text)] if text else []
    if files or state_delta:
        session = await own_session(user, session_id)
        delta = await validated_delta(session, state_delta)
        parts += [reference.as_part() for reference in await in_thread(uploads.references_to, session, files)]
    queued = await worker().start(
        session_id,
        user_id=user.pk,
        client_id=client_id,
        message=content_to_json(types.Content(role="user", parts=parts)),
        by=actors.person(user),
        title=changes.title_from(text or files[0][0]),
        state_delta=delta,
        policies=conf().by_app("queue_policy"),
    )
    return _admitted(queued)


def _admitted(queued: invocation_queue.Queued | None) -> tuple[str, str]:
    """Return id and status of a message that was queued; raise the reason for which it was not."""
    if queued is None:
        raise NotFoundError(NO_SESSION)
    if queued.status == invocation_queue.REFUSED:
        raise ConflictError(
            "Your last message is still being answered. Wait until it is complete, or stop it."
        )
    if queued.status == invocation_queue.FULL:
        raise LimitExceededError(
            f"{conf().queued_messages_per_person} of your messages are waiting to be answered. "
            "Wait until one of them is answered, then send this again."
        )
    return queued.invocation_id, queued.status


async def edit_message(
    user: User,
    session_id: UUID,
    client_id: str,
    text: str,
    replaces: str,
    files: Sequence[FileName] = (),
    *,
    state_delta: Mapping[str, Any] | None = None,
) -> tuple[str, str]:
    """Rewind to before an earlier message and send a new one in its place (contract R3).

    Idempotent: repeated with the same client id, also after a crash half-way, it leaves one new message. Returns and
    raises the same as `send_message`, and a ConflictError also when an invocation is active in the session.

    Args:
        replaces: the id of the invocation that the earlier message started.
    """
    client_ids.refuse_reserved(client_id)  # before the rewind
    text = validated_text(text, has_files=bool(files))
    session = await own_session(user, session_id)
    await in_thread(uploads.references_to, session, files)  # before the rewind
    await validated_delta(session, state_delta)
    try:
        await rewind_before(session, replaces, actors.person(user))
    except (ConflictError, NotFoundError):
        is_repeated = await in_thread(session.invocations.filter(client_id=client_id).exists)
        if not is_repeated:
            raise
    else:
        await in_thread(changes.forget_title_of_first_message, session)
    return await send_message(user, session_id, client_id, text, files, state_delta=state_delta)


async def rewind(user: User, session_id: UUID, invocation_id: str) -> None:
    """Undo an invocation and all after it (contract R3). Idempotent until the next message.

    Raises as `edit_message` does.
    """
    session = await own_session(user, session_id)
    await rewind_before(session, invocation_id, actors.person(user))
    await in_thread(changes.forget_title_of_first_message, session)


async def switch_alternative(user: User, session_id: UUID, seq: int) -> None:
    """Bring back the alternative that the event `seq` is part of, as it was left. Raises as `edit_message` does."""
    await switch_to(await own_session(user, session_id), seq, actors.person(user))


async def answer_call(
    user: User,
    session_id: UUID,
    call_id: str,
    name: str | None,
    response: dict[str, Any] | FormAnswer,
    *,
    invocation_id: str | None = None,
    state_delta: Mapping[str, Any] | None = None,
    for_site: bool = False,
) -> tuple[str, str]:
    """Answer a call that waits for the user; return the id and status of the invocation. The first answer counts.

    Args:
        name: name of the called function, as a check; None for any.
        invocation_id: invocation that made the call, as a check; None for any.
        state_delta: changes of the state that are committed with the answer.
        for_site: a service's key gives the answer, which answers the calls of the site as well.

    Raises:
        NotFoundError: the user has no such session, or the session or the invocation no such call.
        PermissionDeniedError: a job answers the call, or its tool names somebody else.
        ConflictError: the call was answered already.
        InvalidInputError: the answer is a credential that cannot be read, allows more than the question offers, or
            names a field or an option that the question does not have.
    """
    session = await own_session(user, session_id)
    call = await find_waiting_call(session, call_id, name=name, invocation_id=invocation_id)
    if not isinstance(response, dict):
        response = response.response_to(call.args)
    await check_may_answer(user, session, call, response, for_site=for_site)
    delta = await validated_delta(session, state_delta)
    return await queue_answer(session, call, response, by=answerer(session, user, ""), state_delta=delta)


async def withdraw_allowance(user: User, session_id: UUID, agent: str, tool: str) -> None:
    """Withdraw the user's allowance of a tool: the agent asks again before each call.

    Raises:
        NotFoundError: the user has no such session, or the session no such allowance.
    """
    await withdraw(await own_session(user, session_id), agent, tool, actors.person(user))


async def answer_long_running_call(
    session: Session,
    call_id: str,
    response: dict[str, Any],
    *,
    by: User | None = None,
    address: str = "",
    reason: str = "",
) -> tuple[str, str]:
    """Answer a call in any session, for the site's own code: a webhook, or a page on which managers approve.

    Args:
        by: the user who answers, whom the tool of the call must let answer. Without a user the site's code answers,
            which may answer every call but a job's.
        address: IP address that the answer comes from, for the audit.
        reason: why the user answers so, for the audit.

    Returns and raises the same as `answer_call`.
    """
    call = await find_waiting_call(session, call_id)
    if by:
        await check_may_answer(by, session, call, response)
    return await queue_answer(session, call, response, by=answerer(session, by, address), reason=reason)


async def cancel(user: User, session_id: UUID, invocation_id: str) -> None:
    """Cancel an invocation that is queued or running; an ended one stays as it is.

    Raises:
        NotFoundError: the user has no such session, or the session no such invocation.
    """
    await cancel_invocation(await own_session(user, session_id), invocation_id, by=actors.person(user))


async def retry(
    user: User, session_id: UUID, invocation_id: str, *, retry_id: UUID | None = None
) -> tuple[str, str]:
    """Retry the session's last invocation, which failed: it resumes from its events. Return its id and status.

    If its agents cannot be resumed, its message is sent again as a new invocation, whose id and status are returned.

    Args:
        retry_id: id of the request. Repeated with it, the request gets the invocation that it has begun, and begins
            no other.

    Raises:
        NotFoundError: the user has no such session, or the session no such invocation.
        ConflictError: the invocation did not fail, is being retried already, or is not the last one.
        LimitExceededError: too many messages of the user wait for their turn.
    """
    session = await own_session(user, session_id)
    if retry_id and (queued := await queued_by(session, invocation_id, retry_id)):
        return queued.invocation_id, queued.status
    failed = await failed_invocation(session, invocation_id)
    if await must_restart(session, failed):
        again = client_ids.of_retry(invocation_id)
        by, message = actors.person(user), failed.message
        start = partial(worker().start, session_id, user_id=user.pk, client_id=again, message=message, by=by)
        return _admitted(await start(state_delta=failed.state_delta))
    row = await queue_again(session, invocation_id, actors.person(user), retry_id)
    notice = invocation_notice(row.invocation_id, row.client_id, row.status)
    live().hub.publish_notice(session_id, notice)
    await worker().start_next(session_id)
    return row.invocation_id, row.status


async def give_feedback(user: User, session_id: UUID, seq: int, rating: str, comment: str) -> None:
    """Store the user's opinion of an answer, in place of an earlier one; without a rating, withdraw it.

    Raises:
        NotFoundError: the user has no such session, or the session no such answer.
        InvalidInputError: the rating is none, or the comment too long.
    """
    session = await own_session(user, session_id)
    if rating:
        await in_thread(feedback.give_feedback, session, seq, rating, comment)
    else:
        await in_thread(feedback.withdraw_feedback, session, seq)
