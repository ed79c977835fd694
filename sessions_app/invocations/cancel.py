"""Cancellation of an invocation, whichever process runs it (contract R2), for the chat and for the admin."""

from sessions_app.base.actors import Actor, ActorKind
from sessions_app.errors import NotFoundError
from sessions_app.invocations.outcome import STOPPED, STOPPED_BY_STAFF
from sessions_app.invocations.worker import worker
from sessions_app.live.notices import invocation_notice
from sessions_app.live.process import live
from sessions_app.models import InvocationStatus, Session
from sessions_app.store.sql import cancel_requests


async def cancel_invocation(session: Session, invocation_id: str, *, by: Actor, reason: str = "") -> None:
    """Cancel a queued or running invocation; by staff, also a waiting invocation. Do nothing when it has ended.

    The row keeps actor, time and reason of the first request.

    Raises:
        NotFoundError: the session has no such invocation.
    """
    # The request is in the row before any process gets a message. If the message is lost, the running process finds the
    # request on its next heartbeat; if this process has died, the next claim ends the invocation.
    outcome = STOPPED_BY_STAFF if by.kind == ActorKind.STAFF else STOPPED
    request = await cancel_requests.request_cancel(
        session.pk,
        invocation_id,
        by=by,
        reason=reason,
        error_code=outcome.error_code,
        error_message=outcome.error_message,
    )
    if request is None:
        raise NotFoundError("There is nothing to stop here.")
    if request.status == InvocationStatus.RUNNING:
        await worker().cancel(invocation_id)
    elif request.status == InvocationStatus.QUEUED and by.kind == ActorKind.STAFF:
        # The invocation waited for an answer and is queued now. Its claim ends it.
        await worker().start_next(session.pk)
    elif request.status == InvocationStatus.CANCELLED:
        notice = invocation_notice(invocation_id, request.client_id, request.status, request.error)
        live().hub.publish_notice(session.pk, notice)
