"""Running invocations of this process, and the heartbeat, which renews their leases."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sessions_app.conf import conf
from sessions_app.invocations.outcome import AGENT_CLOSED, HANDED_OVER, STOPPED, Outcome
from sessions_app.sessions.agent_access import may_use
from sessions_app.store.sql import leases
from sessions_app.store.sql.leases import Claim

logger = logging.getLogger(__name__)


@dataclass
class RunningInvocation:
    """A claimed invocation and its asyncio task.

    Attributes:
        stop_as: outcome of the first request to stop; None without a request.
        has_begun: True once the task has started.
        is_ending: True while the end is written, when the lease may be released at any moment.
    """

    claim: Claim
    task: asyncio.Task[Any]
    stop_as: Outcome | None = None
    has_begun: bool = False
    is_ending: bool = False

    def stop(self, stop_as: Outcome) -> None:
        """Stop the invocation, unless it is ending already."""
        if self.is_ending or self.stop_as is not None:
            return
        self.stop_as = stop_as
        # A task cancelled before its first step runs no code, so it would write no end: it finds `stop_as` instead.
        if self.has_begun:
            self.task.cancel()


async def renew_leases(running: Mapping[str, RunningInvocation], owner: str) -> None:
    """Renew the leases while any invocation runs. Stop invocations with a lost lease, a cancel request, or a user who
    may not use the app any more.

    Args:
        running: the worker's running invocations by id; changed by the worker during this call.
    """
    while running:
        await asyncio.sleep(conf().heartbeat_seconds)
        # An ending invocation may have released its lease, which must not look like a loss.
        held = {entry.claim.session_id: entry for entry in running.values() if not entry.is_ending}
        try:
            renewed = await leases.renew(list(held), owner=owner, lease_seconds=conf().lease_seconds)
            closed = []
            for entry in held.values():
                if not await may_use(entry.claim.user_id, entry.claim.app_name):
                    closed.append(entry)
        except Exception:  # PostgreSQL may be away for a moment. The fencing token protects the log.
            logger.warning("Leases could not be renewed; trying again", exc_info=True)
            continue
        for invocation_id in renewed.cancelled:
            if invocation_id in running:
                running[invocation_id].stop(STOPPED)
        for session_id, invocation in held.items():
            if session_id not in renewed.held:
                invocation.stop(HANDED_OVER)
        for invocation in closed:
            invocation.stop(AGENT_CLOSED)
