"""End of the jobs whose calls are answered because staff stop the invocation that waits for them."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models.functions import Now

from sessions_app.base.actors import Actor, ActorKind
from sessions_app.jobs.cancel import cancel_job
from sessions_app.models import Invocation, ToolJob
from sessions_app.process.threads import fetch_rows, in_thread
from sessions_app.store.sql.leases import Claim


async def end_jobs_of_calls(claim: Claim, call_ids: Collection[str]) -> None:
    """Cancel the open jobs of the calls, and mark them as delivered so that no function response is queued.

    Call this before the calls are answered.

    Args:
        claim: the claim of the stopped invocation.
    """
    open_jobs = ToolJob.objects.open().filter(session_id=claim.session_id, call_id__in=call_ids)
    job_ids = await fetch_rows(open_jobs.values_list("pk", flat=True)) if call_ids else []
    if not job_ids:
        return
    stopped = await in_thread(Invocation.objects.get, invocation_id=claim.invocation_id)
    by = Actor(ActorKind.STAFF, stopped.cancelled_by_name, stopped.cancelled_by_id)
    await in_thread(ToolJob.objects.filter(pk__in=job_ids).update, delivered_at=Now())
    for job_id in job_ids:
        await in_thread(cancel_job, job_id, by=by, reason=stopped.cancel_reason)
