"""Going back to before an invocation, in a session where nothing runs (spec R3)."""

from __future__ import annotations

from uuid import UUID

from django.db.models.functions import Now

from runtime.errors import InvocationNotFoundError
from runtime.events.calls import find_call_event, pending_calls
from runtime.events.rewound import drop_rewound
from runtime.runners import Runner
from runtime.sessions import GetSessionConfig
from sessions_app.errors import ConflictError, NotFoundError, StaleLeaseError
from sessions_app.jobs.cancel import cancel_job
from sessions_app.live.process import live
from sessions_app.models import InvocationStatus, Session, ToolJob
from sessions_app.notices import invocation_notice, schedule_notice
from sessions_app.protocol import EventNews, event_frame
from sessions_app.registry import get_app
from sessions_app.rendering import render_event
from sessions_app.scheduling.cancel import cancel_task
from sessions_app.services.artifact_service import DjangoArtifactService
from sessions_app.services.session_service import CommittedEvent, DjangoSessionService
from sessions_app.sync import in_thread

AT_WORK = (InvocationStatus.QUEUED, InvocationStatus.RUNNING)


async def rewind_session(session: Session, invocation_id: str) -> None:
    """Undo the invocation and all after it; what waited in them is cancelled, and its jobs with it.

    Raises:
        NotFoundError: there is no such invocation, or it was rewound already.
        ConflictError: something runs, or is queued.
    """
    busy = ConflictError("An answer is being written in this conversation. Stop it first, then go back.")
    if await session.invocations.filter(status__in=AT_WORK).aexists():
        raise busy
    runner = Runner(
        app=get_app(session.app_name),
        session_service=DjangoSessionService(on_commit=_publish),
        artifact_service=DjangoArtifactService(),
    )
    try:
        await runner.rewind_async(
            user_id=str(session.user_id), session_id=session.key, rewind_before_invocation_id=invocation_id
        )
    except InvocationNotFoundError as error:
        raise NotFoundError("There is no such message to go back to in this conversation.") from error
    except StaleLeaseError as error:
        raise busy from error
    await _cancel_what_waits_for_nothing(session)
    await _cancel_what_was_scheduled_in_what_is_undone(session)


async def _cancel_what_waits_for_nothing(session: Session) -> None:
    """Jobs whose calls do not count any more, which nobody is to answer, and the invocations that waited for them."""
    current = await DjangoSessionService().get_session(
        app_name=session.app_name,
        user_id=str(session.user_id),
        session_id=session.key,
        config=GetSessionConfig(without_superseded=True),
    )
    events = current.events if current else []
    calls = pending_calls(events)
    jobs = ToolJob.objects.filter(session=session, delivered_at__isnull=True).exclude(call_id__in=calls)
    job_ids = [job_id async for job_id in jobs.values_list("pk", flat=True)]
    await ToolJob.objects.filter(pk__in=job_ids).aupdate(delivered_at=Now())
    for job_id in job_ids:
        await in_thread(cancel_job, job_id, by=session.user_id)
    waiting = {event.invocation_id for call_id in calls if (event := find_call_event(events, call_id))}
    rows = session.invocations.filter(status=InvocationStatus.WAITING).exclude(invocation_id__in=waiting)
    async for row in rows:
        await session.invocations.filter(pk=row.pk).aupdate(
            status=InvocationStatus.CANCELLED, finished_at=Now()
        )
        _tell(session.pk, row.invocation_id, row.client_id)


async def _cancel_what_was_scheduled_in_what_is_undone(session: Session) -> None:
    """The scheduled tasks of calls that do not count any more."""
    tasks = [task async for task in session.scheduled_tasks.active()]
    if not tasks:
        return
    whole = await DjangoSessionService().get_session(
        app_name=session.app_name, user_id=str(session.user_id), session_id=session.key
    )
    counting = {event.invocation_id for event in drop_rewound(whole.events)} if whole else set()
    for task in tasks:
        if task.invocation_id not in counting:
            cancelled = await in_thread(cancel_task, session.pk, task.pk, session.user_id)
            live().hub.publish_notice(session.pk, schedule_notice(cancelled))


def _tell(session_id: UUID, invocation_id: str, client_id: str) -> None:
    notice = invocation_notice(invocation_id, client_id, InvocationStatus.CANCELLED)
    live().hub.publish_notice(session_id, notice)


def _publish(committed: CommittedEvent) -> None:
    session_id, seq, event = committed.session_id, committed.seq, committed.event
    frame = event_frame(seq, committed.body, render_event(session_id, seq, event))
    live().hub.publish_event(session_id, EventNews(seq, event.id, frame))
