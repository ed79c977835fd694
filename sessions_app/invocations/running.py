"""Running invocations of this process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from sessions_app.invocations.outcome import Outcome
from sessions_app.store.sql.leases import Claim


@dataclass
class RunningInvocation:
    """A claimed invocation and its asyncio task.

    Attributes:
        stop_as: outcome of the first request to stop; None without one.
        has_begun: True once the task has started. A task that is cancelled before it has started would write no end.
        is_ending: True while the end is written. The lease may be released at any moment then.
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
        if self.has_begun:
            self.task.cancel()
