"""Use cases about the jobs and the scheduled tasks of a session."""

from uuid import UUID

from sessions_app.base.actors import UserActor
from sessions_app.errors import NotFoundError
from sessions_app.jobs.cancel import cancel_job as cancel_tool_job
from sessions_app.jobs.questions import JobAnswer, answer_question
from sessions_app.live.notices import schedule_notice
from sessions_app.live.process import live
from sessions_app.models import Session, ToolJob
from sessions_app.process.threads import in_thread
from sessions_app.scheduling.session_tasks import cancel_task
from sessions_app.sessions.agent_access import own_usable_session
from sessions_app.sessions.ownership import own_session


async def cancel_job(by: UserActor, session_id: UUID, job_id: UUID) -> None:
    """Cancel a job that is queued, running or waiting. A job that has ended stays as it is.

    Raises:
        NotFoundError: the user has no such session, or the session no such job.
    """
    await _check_job(await own_session(by.user, session_id), job_id)
    await in_thread(cancel_tool_job, job_id, by=by)


async def answer_job(by: UserActor, session_id: UUID, job_id: UUID, number: int, answer: JobAnswer) -> None:
    """Answer the question of a waiting job. The first answer counts.

    Args:
        number: index of the question among the job's questions, so a late answer cannot reach the next question.

    Raises:
        NotFoundError: the user has no such session, or the session no such job.
        AgentClosedError: the user may not use the app.
        ConflictError: the question was answered already, or the job has ended.
        InvalidInputError: the answer is not valid for the kind of question.
    """
    session = await own_usable_session(by.user, session_id)
    await _check_job(session, job_id)
    await answer_question(job_id, number, answer, by)


async def _check_job(session: Session, job_id: UUID) -> None:
    if not await in_thread(ToolJob.objects.filter(session=session, pk=job_id).exists):
        raise NotFoundError("There is no such job in this chat.")


async def cancel_schedule(by: UserActor, session_id: UUID, schedule_id: int) -> None:
    """Cancel a scheduled task. Its running invocations continue; a task that has ended stays as it is.

    Raises:
        NotFoundError: the user has no such session, or the session no such task.
    """
    session = await own_session(by.user, session_id)
    task = await in_thread(cancel_task, session.pk, schedule_id, by)
    live().hub.publish_notice(session.pk, schedule_notice(task))
