"""Heartbeat of a worker: renews the leases of its running invocations."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from sessions_app.conf import conf
from sessions_app.invocations.outcome import HANDED_OVER, STOPPED
from sessions_app.invocations.running import RunningInvocation
from sessions_app.store.sql import leases

logger = logging.getLogger(__name__)


async def renew_leases(running: Mapping[str, RunningInvocation], owner: str) -> None:
    """Renew the leases while anything runs; stop invocations whose lease is lost or whose cancel was requested.

    Args:
        running: the worker's running invocations by id. The worker changes the mapping during this call.
    """
    while running:
        await asyncio.sleep(conf().heartbeat_seconds)
        held = {entry.claim.session_id: entry for entry in running.values() if not entry.is_ending}
        try:
            renewed = await leases.renew(list(held), owner=owner, lease_seconds=conf().lease_seconds)
        except Exception:  # PostgreSQL may be away for a moment. The fencing token protects the log.
            logger.warning("Leases could not be renewed; trying again", exc_info=True)
            continue
        for invocation_id in renewed.cancelled:
            if invocation_id in running:
                running[invocation_id].stop(STOPPED)
        for session_id, invocation in held.items():
            if session_id not in renewed.held:
                invocation.stop(HANDED_OVER)
