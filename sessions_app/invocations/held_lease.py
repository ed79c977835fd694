"""Lease on an idle session, for a change to its log outside of invocations."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import UUID

from django.utils.translation import gettext_noop

from sessions_app.conf import conf
from sessions_app.errors import ConflictError, StaleLeaseError
from sessions_app.invocations.worker import worker
from sessions_app.store.sql import session_lease

BUSY = gettext_noop("An answer is being written in this chat. Stop it first, then try again.")


@asynccontextmanager
async def hold_lease(session_id: UUID, *, before_queue: bool = False) -> AsyncGenerator[int]:
    """Hold the session's lease: no invocation begins. Afterwards run invocations queued in between.

    Args:
        before_queue: True to hold it also if invocations are queued already.

    Raises:
        ConflictError: an invocation runs or is queued, or the lease was lost and an append of the block was refused.
    """
    lease_token = await session_lease.acquire(
        session_id, owner=worker().owner, lease_seconds=conf().lease_seconds, before_queue=before_queue
    )
    if lease_token is None:
        raise ConflictError(BUSY)
    try:
        yield lease_token
    except StaleLeaseError as error:
        raise ConflictError(BUSY) from error
    finally:
        if await session_lease.release(session_id, lease_token):
            await worker().start_next(session_id)
