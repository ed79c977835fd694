"""What people do, one function each: permission, validation, then a service. Every edge is a thin call of these."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from runtime import types
from runtime.events.calls import find_call_event, pending_calls
from sessions_app import celery_dispatch, client_ids
from sessions_app.agent_registry import get_app
from sessions_app.codec import content_to_json, storable
from sessions_app.conf import conf
from sessions_app.db import invocation_queue
from sessions_app.db.threads import in_thread
from sessions_app.errors import ConflictError, InvalidInputError, NotFoundError, PermissionDeniedError
from sessions_app.history.effective_events import effective_events
from sessions_app.invocations.cancel import cancel_invocation
from sessions_app.invocations.retry import failed_invocation, must_restart, queue_again
from sessions_app.invocations.rewind import rewind_before
from sessions_app.invocations.worker import worker
from sessions_app.jobs.cancel import cancel_job as cancel_job_here
from sessions_app.jobs.questions import JobAnswer, answer_question
from sessions_app.live.notices import invocation_notice, job_notice, schedule_notice
from sessions_app.live.process import live
from sessions_app.models import Session, ToolJob
from sessions_app.scheduling.cancel import cancel_task
from sessions_app.services.session_service import DjangoSessionService

User = AbstractBaseUser | AnonymousUser


async def create_session(user: User, app_name: str) -> Session:
    """Begin a conversation with an app of this site.

    Raises:
        NotFoundError: there is no such app.
    """
    app = get_app(app_name)
    created = await DjangoSessionService().create_session(app_name=app.name, user_id=str(user.pk))
    return await Session.objects.owned_by(user).aget(app_name=app.name, key=created.id)


async def get_session(user: User, session_id: UUID) -> Session:
    """A conversation of the user.

    Raises:
        NotFoundError: there is none, or it is someone else's.
    """
    session = await Session.objects.owned_by(user).filter(pk=session_id).afirst()
    if session is None:
        raise NotFoundError("There is no such conversation here.")
    return session


async def send_message(user: User, session_id: UUID, client_id: str, text: str) -> tuple[str, str]:
    """Queue what the person says and have it answered. The same client id again starts nothing.

    Returns the invocation's id and its status at that moment.

    Raises:
        InvalidInputError: the message is empty or too long, or its id looks like one of the site's.
        NotFoundError: there is no such conversation, or it is someone else's.
        ConflictError: another message is being answered, and the app takes one at a time.
    """
    text = _usable_text(text)
    if client_ids.is_of_the_site(client_id):
        raise InvalidInputError(
            f"The message id {client_id!r} begins with a word of the site's: make another."
        )
    queued = await worker().start(
        session_id,
        user_id=user.pk,
        client_id=client_id,
        message=content_to_json(types.UserContent(text)),
        title=title_from(text),
        policies=conf().by_app("queue_policy"),
    )
    if queued is None:
        raise NotFoundError("There is no such conversation here.")
    if queued.status == invocation_queue.REFUSED:
        raise ConflictError("Your last message is still being answered. Wait for the end, or stop it, first.")
    return queued.invocation_id, queued.status


async def edit_message(
    user: User, session_id: UUID, client_id: str, text: str, replaces: str
) -> tuple[str, str]:
    """Say something in place of an earlier message: it and all after it no longer count (spec R3).

    Safe to repeat under the same client id, whatever became of the first time: there is one new message at the end.
    Returns what `send_message` does.

    Args:
        replaces: the id of the invocation that the earlier message began.

    Raises:
        InvalidInputError: the message is empty or too long.
        NotFoundError: there is no such conversation, it is someone else's, or the message is not in it any more.
        ConflictError: an answer is being written, or is queued.
    """
    text = _usable_text(text)
    session = await get_session(user, session_id)
    try:
        await rewind_before(session, replaces)
    except (ConflictError, NotFoundError):
        if not await session.invocations.filter(client_id=client_id).aexists():  # else this is a retry
            raise
    return await send_message(user, session_id, client_id, text)


def _usable_text(text: str) -> str:
    if not text.strip():
        raise InvalidInputError("The message is empty. Write something first.")
    if len(text) > conf().message_limit:
        raise InvalidInputError(
            f"The message has {len(text)} characters; the limit is {conf().message_limit}. Send it in parts."
        )
    return storable(text)


async def answer_call(
    user: User, session_id: UUID, call_id: str, name: str, response: dict[str, Any]
) -> tuple[str, str]:
    """Answer a call that waits for the person: a confirmation, a choice. One answer counts, the first.

    Returns the id and status of the invocation that goes on with it.

    Raises:
        NotFoundError: there is no such conversation or no such call.
        PermissionDeniedError: a job answers the call.
        ConflictError: the call was answered already.
    """
    session = await get_session(user, session_id)
    if await ToolJob.objects.filter(session=session, call_id=call_id).aexists():
        raise PermissionDeniedError("This call is answered by its job, not by a person.")
    await _check_waits(session, call_id, name)
    part = types.FunctionResponse(id=call_id, name=name, response=response)
    content = types.Content(role="user", parts=[types.Part(function_response=part)])
    queued = await worker().start(
        session_id,
        user_id=user.pk,
        client_id=client_ids.of_answer(call_id),
        message=content_to_json(content),
    )
    if queued is None:
        raise NotFoundError("There is no such conversation here.")
    if queued.is_repeated:
        raise ConflictError("This was answered already.")
    return queued.invocation_id, queued.status


async def _check_waits(session: Session, call_id: str, name: str) -> None:
    """The call is the session's, waits for an answer from outside, and has none."""
    events = await effective_events(session)
    call_event = find_call_event(events, call_id)
    calls = call_event.get_function_calls() if call_event else []
    if call_event is None or name not in [call.name for call in calls if call.id == call_id]:
        raise NotFoundError("There is no such question in this conversation.")
    if call_id not in pending_calls(events):
        raise ConflictError("This was answered already.")


async def cancel(user: User, session_id: UUID, invocation_id: str) -> None:
    """Stop an invocation, queued or running.

    Raises:
        NotFoundError: there is none, or it is someone else's.
    """
    await cancel_invocation(await get_session(user, session_id), invocation_id, by=user.pk)


async def retry(user: User, session_id: UUID, invocation_id: str) -> None:
    """Try the last invocation again, which failed: it goes on from its events, and its message is not said twice.

    A message to agents that recorded no state to go on from is sent once more, as a new invocation.

    Raises:
        NotFoundError: there is no such invocation, or it is someone else's.
        ConflictError: it did not fail, is being tried again already, or the conversation has gone on.
    """
    session = await get_session(user, session_id)
    failed = await failed_invocation(session, invocation_id)
    if await must_restart(session, failed):
        again = client_ids.of_retry(invocation_id)
        await worker().start(session_id, user_id=user.pk, client_id=again, message=failed.message)
        return
    row = await queue_again(session, invocation_id)
    notice = invocation_notice(row.invocation_id, row.client_id, row.status)
    live().hub.publish_notice(session_id, notice)
    await worker().start_next(session_id)


async def rewind(user: User, session_id: UUID, invocation_id: str) -> None:
    """Go back to before a message: it and all after it no longer count; state and files are as before (spec R3).

    Safe to repeat as long as nobody has said anything since.

    Raises:
        NotFoundError: there is no such conversation, it is someone else's, or the message is not in it any more.
        ConflictError: an answer is being written, or is queued.
    """
    await rewind_before(await get_session(user, session_id), invocation_id)


async def cancel_job(user: User, session_id: UUID, job_id: UUID) -> None:
    """Stop a job, queued, running or waiting; one that has ended stays as it is.

    Raises:
        NotFoundError: there is none, or it is someone else's.
    """
    await _check_is_own_job(user, session_id, job_id)
    await in_thread(cancel_job_here, job_id, by=user.pk)


async def answer_job(user: User, session_id: UUID, job_id: UUID, number: int, answer: JobAnswer) -> None:
    """Answer the question that a job waits with; `number` counts its questions from 0. The first answer counts.

    Raises:
        NotFoundError: there is no such job, or it is someone else's.
        ConflictError: the question was answered already, or the job has ended.
        InvalidInputError: the answer does not fit the question.
    """
    await _check_is_own_job(user, session_id, job_id)
    job = await in_thread(answer_question, job_id, number, answer, by=user.get_username())
    live().hub.publish_notice(session_id, job_notice(job))
    celery_dispatch.send_job_soon(job.pk, job.task_name)


async def _check_is_own_job(user: User, session_id: UUID, job_id: UUID) -> None:
    session = await get_session(user, session_id)
    if not await ToolJob.objects.filter(session=session, pk=job_id).aexists():
        raise NotFoundError("There is no such job in this conversation.")


async def cancel_schedule(user: User, session_id: UUID, schedule_id: int) -> None:
    """Call a scheduled task off; one that is over stays as it is, and what it has begun goes on.

    Raises:
        NotFoundError: there is none, or it is someone else's.
    """
    session = await get_session(user, session_id)
    task = await in_thread(cancel_task, session.pk, schedule_id, user.pk)
    live().hub.publish_notice(session.pk, schedule_notice(task))


def title_from(text: str) -> str:
    """A conversation's title: the first line of its first message, shortened at a word."""
    line = " ".join(text.split())
    if len(line) <= 80:
        return line
    return f"{line[:80].rsplit(' ', 1)[0]}…"
