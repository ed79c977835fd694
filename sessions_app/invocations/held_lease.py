"""Lease on an idle session, for a change to its log outside of invocations."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import NoReturn
from uuid import UUID

from django.utils.translation import gettext_noop

from sessions_app.conf import conf
from sessions_app.errors import ConflictError, StaleLeaseError
from sessions_app.invocations.worker import worker
from sessions_app.process.threads import create_task
from sessions_app.store.sql import leases, session_lease

logger = logging.getLogger(__name__)
BUSY = gettext_noop("An answer is being written in this chat. Stop it first, then try again.")


@asynccontextmanager
async def hold_lease(session_id: UUID) -> AsyncGenerator[int]:
    """Hold the session's lease: no invocation begins. Afterwards run invocations queued in between.

    Raises:
        ConflictError: an invocation runs or is queued, or the lease was lost and an append of the block was refused.
    """
    lease_token = await session_lease.acquire(
        session_id, owner=worker().owner, lease_seconds=conf().lease_seconds
    )
    if lease_token is None:
        raise ConflictError(BUSY)
    async with keep_lease(session_id, lease_token):
        yield lease_token


async def take_over_expired() -> list[tuple[UUID, int]]:
    """Take over leases that dead processes held as `hold_lease` does; return sessions and fencing tokens."""
    return await session_lease.take_over_expired(owner=worker().owner, lease_seconds=conf().lease_seconds)


@asynccontextmanager
async def keep_lease(session_id: UUID, lease_token: int) -> AsyncGenerator[None]:
    """Renew and finally release a lease that this process has acquired or taken over, as `hold_lease` does."""
    renewal = create_task(_renew(session_id), f"renew the held lease of session {session_id}")
    try:
        yield
    except StaleLeaseError as error:
        raise ConflictError(BUSY) from error
    finally:
        renewal.cancel()
        await asyncio.wait([renewal])
        if await session_lease.release(session_id, lease_token):
            await worker().start_next(session_id)


async def _renew(session_id: UUID) -> NoReturn:
    """Renew the lease until this task is cancelled: a process that is only slow must finish what it has begun."""
    while True:
        await asyncio.sleep(conf().heartbeat_seconds)
        try:
            await leases.renew([session_id], owner=worker().owner, lease_seconds=conf().lease_seconds)
        except Exception:  # PostgreSQL may be away for a moment. The fencing token protects the session.
            logger.warning("A held lease could not be renewed; trying again", exc_info=True)
