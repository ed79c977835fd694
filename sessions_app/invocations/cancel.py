"""Stopping an invocation, wherever it runs (spec R2): one way for the person, another tab and the admin."""

from __future__ import annotations

from typing import Any

from sessions_app.db import cancel_requests
from sessions_app.errors import NotFoundError
from sessions_app.invocations.outcome import STOPPED, STOPPED_BY_STAFF
from sessions_app.invocations.worker import worker
from sessions_app.live.notices import invocation_notice
from sessions_app.live.process import live
from sessions_app.models import InvocationStatus, Session


async def cancel_invocation(session: Session, invocation_id: str, *, by: Any, reason: str = "") -> None:
    """Stop an invocation, queued or running; one that has ended stays as it is.

    The row keeps who asked first, when and why. The process that runs it is told at once, and finds it in the row
    when the message is lost; when that process is gone, the next one ends it instead of going on.

    Raises:
        NotFoundError: the session has no such invocation.
    """
    outcome = STOPPED if by == session.user_id else STOPPED_BY_STAFF
    asked = await cancel_requests.request_cancel(
        session.pk,
        invocation_id,
        by=by,
        reason=reason,
        error_code=outcome.error_code,
        error_message=outcome.error_message,
    )
    if asked is None:
        raise NotFoundError("There is nothing to stop here.")
    if asked.status == InvocationStatus.RUNNING:
        await worker().cancel(invocation_id)
    elif asked.status == InvocationStatus.CANCELLED:
        notice = invocation_notice(invocation_id, asked.client_id, asked.status, asked.error)
        live().hub.publish_notice(session.pk, notice)
