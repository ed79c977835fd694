"""Program of the two processes in test_fencing.py that compete for the lease of one session.

The test writes a round to stdin, one per line: `duel` or `overtake`. The process answers each round with a JSON line
when its part is over, and the end of its input with a JSON line of its results.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import defaultdict
from typing import Any
from uuid import UUID

from runtime import types
from runtime.events import Event
from runtime.sessions import Session
from sessions_app.errors import StaleLeaseError
from sessions_app.process.pool import close_pool
from sessions_app.store import DjangoSessionService
from sessions_app.store.session_service import Writer
from sessions_app.store.sql import leases
from sessions_app.store.sql.leases import Claim

EVENTS = 3
"""Number of events of a complete invocation."""
ATTEMPTS_AFTER_LOSS = 5
"""Number of further writes that a refused owner attempts."""
WRITE_LIMIT = 2_000
"""More events than an owner can write before the other process takes over."""
LEASE_SECONDS = 60.0
SHORT_LEASE_SECONDS = 0.003
"""Long enough for some events, too short for the whole round."""


class Rival:
    """Competitor for the queued invocations of a session.

    Attributes:
        stored: ids of the events whose append succeeded, by fencing token.
        refused: number of appends that were refused under a lost lease.
        ended_in_vain: number of times that it could finish or hand over an invocation under a lost lease.
    """

    def __init__(self, session_id: UUID) -> None:
        self._session_id = session_id
        self._owner = f"process {os.getpid()}"
        self._lost: tuple[Claim, Session] | None = None
        self.stored: defaultdict[int, list[str]] = defaultdict(list)
        self.refused = 0
        self.ended_in_vain = 0

    async def duel(self) -> None:
        """Claim the invocation and complete it; without the claim, try to write under the lost lease."""
        claim = await self._claim(LEASE_SECONDS)
        if claim is not None:
            await self._complete(claim)
        elif self._lost is not None:
            await self._write(*self._lost)

    async def overtake(self) -> None:
        """Claim the invocation under a short lease and write on after it expired; the other process takes over."""
        claim = await self._claim(SHORT_LEASE_SECONDS)
        if claim is not None:
            session = await self._load(claim)
            written = 0
            while await self._write(claim, session):
                written += 1
                assert written < WRITE_LIMIT, (
                    "The lease expired long ago, but no process has taken over, or it still allows writes."
                )
            for _ in range(ATTEMPTS_AFTER_LOSS):
                await self._write(claim, session)
            self.ended_in_vain += await leases.finish(claim, status="failed") is not None
            self.ended_in_vain += await leases.hand_over(claim)
            self._lost = claim, session
            return
        while claim is None:
            await leases.take_back_expired()
            claim = await self._claim(LEASE_SECONDS)
        await self._complete(claim)

    async def loaded_ids(self) -> list[str]:
        """Return the ids of the session's events as this process loads them."""
        assert self._lost is not None
        return [event.id for event in (await self._load(self._lost[0])).events]

    async def _claim(self, lease_seconds: float) -> Claim | None:
        return await leases.claim_next(self._session_id, owner=self._owner, lease_seconds=lease_seconds)

    async def _complete(self, claim: Claim) -> None:
        session = await self._load(claim)
        for _ in range(EVENTS):
            await self._write(claim, session)
        await leases.finish(claim, status="completed")
        self._lost = claim, session

    async def _write(self, claim: Claim, session: Session) -> bool:
        """Append an event; False when the lease is lost."""
        content = types.Content(role="model", parts=[types.Part(text=self._owner)])
        event = Event(
            author="agent",
            invocation_id=claim.invocation_id,
            content=content,
            custom_metadata={"lease": claim.lease_token},
        )
        try:
            await DjangoSessionService(Writer(lease_token=claim.lease_token)).append_event(session, event)
        except StaleLeaseError:
            self.refused += 1
            return False
        self.stored[claim.lease_token].append(event.id)
        return True

    async def _load(self, claim: Claim) -> Session:
        session = await DjangoSessionService().get_session(
            app_name=claim.app_name, user_id=str(claim.user_id), session_id=claim.session_key
        )
        assert session is not None
        return session


async def _play_rounds(session_id: UUID) -> None:
    rival = Rival(session_id)
    rounds = {"duel": rival.duel, "overtake": rival.overtake}
    while line := sys.stdin.readline():  # blocks the loop on purpose: nothing else runs between rounds
        await rounds[line.strip()]()
        _print_json("done")
    _print_json(
        {
            "stored": rival.stored,
            "refused": rival.refused,
            "ended_in_vain": rival.ended_in_vain,
            "known": await rival.loaded_ids(),
        }
    )
    await close_pool()


def _print_json(value: Any) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    asyncio.run(_play_rounds(UUID(sys.argv[1])))
