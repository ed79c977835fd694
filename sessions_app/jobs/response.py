"""Delivery of an ended job: its function response is queued once, as an invocation of the session."""

from typing import Any
from uuid import UUID

from django.db.models.functions import Now

from runtime import types
from runtime.events.calls import ResponseStatus
from sessions_app.base import actors, client_ids
from sessions_app.base.codec import content_to_json
from sessions_app.models import JobStatus, ToolJob
from sessions_app.process import threads
from sessions_app.process.celery_dispatch import offer_session
from sessions_app.store.sql.invocation_queue import NewInvocation, enqueue


def queue_response(job_id: UUID) -> None:
    """Queue the function response of an ended job. Idempotent: the invocation's client id is made from the job id.

    In a deleted session nothing is queued; a sweep queues the response when the session is restored.
    """
    job = ToolJob.objects.select_related("session").filter(pk=job_id, delivered_at__isnull=True).first()
    if job is None or not job.is_ended:
        return
    new = NewInvocation(
        job.session_id,
        user_id=job.session.user_id,
        client_id=client_ids.of_job(job.id),
        message=content_to_json(_function_response(job)),
        by=actors.job(job.pk, job.tool_name),
    )
    # Without a lease: this process only queues, and `offer_session` asks a worker to run the session.
    queued = threads.run(enqueue(new))
    if queued is None:
        return
    ToolJob.objects.filter(pk=job_id).update(delivered_at=Now())
    offer_session(job.session_id)


def _function_response(job: ToolJob) -> types.Content:
    part = types.FunctionResponse(id=job.call_id, name=job.tool_name, response=_response_body(job))
    return types.Content(role="user", parts=[types.Part(function_response=part)])


def _response_body(job: ToolJob) -> dict[str, Any]:
    """Return the result of the function, also one that reports a failure, or else the status and error of the job."""
    if job.status == JobStatus.SUCCEEDED:
        return {"status": ResponseStatus.SUCCEEDED.value, **(job.result or {})}
    if job.status == JobStatus.CANCELLED:
        return ResponseStatus.CANCELLED.with_error(job.error)
    return job.result or ResponseStatus.ERROR.with_error(job.error)
