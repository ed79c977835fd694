"""One of the two processes of test_fencing.py, which writes to it and hears from it by its standard streams.

Each line that it reads is a round: `duel` or `overtake`. It answers with a line when its part is over, and at the end
of its input with what it did. All that it says is JSON.
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
from sessions_app.db import leases
from sessions_app.db.leases import Claim
from sessions_app.db.pool import close_pool
from sessions_app.errors import StaleLeaseError
from sessions_app.services import DjangoSessionService

EVENTS = 3
"""So many make an invocation complete."""
TRIES = 5
"""So often an owner goes on trying to write after it was refused."""
MOST = 2_000
"""More than an owner could write before the other one has taken over."""
LEASE_SECONDS = 60.0
SHORT_LEASE_SECONDS = 0.003
"""Some events are written in this time, and the owner is not done yet."""


class Rival:
    """Reaches for what is queued in a session.

    Attributes:
        stored: the ids of the events that it was told are stored, by the token of the lease.
        refused: how often a lease that it had lost was of no use to it.
        ended_in_vain: how often it could end an invocation all the same, or give it away.
    """

    def __init__(self, session_id: UUID) -> None:
        self._session_id = session_id
        self._owner = f"process {os.getpid()}"
        self._lost: tuple[Claim, Session] | None = None
        self.stored: defaultdict[int, list[str]] = defaultdict(list)
        self.refused = 0
        self.ended_in_vain = 0

    async def duel(self) -> None:
        """Who gets the invocation writes and ends it; who does not, writes under the lease that it had before."""
        claim = await self._claim(LEASE_SECONDS)
        if claim is not None:
            await self._complete(claim)
        elif self._lost is not None:
            await self._write(*self._lost)

    async def overtake(self) -> None:
        """As a duel, but the lease runs out in the middle of writing: the other one takes over while it goes on."""
        claim = await self._claim(SHORT_LEASE_SECONDS)
        if claim is not None:
            session = await self._load(claim)
            written = 0
            while await self._write(claim, session):
                written += 1
                assert written < MOST, (
                    "The lease ran out long ago, and nobody has taken over, or it is still good."
                )
            for _ in range(TRIES):
                await self._write(claim, session)
            self.ended_in_vain += await leases.finish(claim, status="failed") is not None
            self.ended_in_vain += await leases.hand_over(claim)
            self._lost = claim, session
            return
        while claim is None:
            await leases.take_back_expired()
            claim = await self._claim(LEASE_SECONDS)
        await self._complete(claim)

    async def known(self) -> list[str]:
        """The ids of the session's events, as this process knows them."""
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
        """Write an event; False when the lease is lost."""
        content = types.Content(role="model", parts=[types.Part(text=self._owner)])
        event = Event(
            author="agent",
            invocation_id=claim.invocation_id,
            content=content,
            custom_metadata={"lease": claim.lease_token},
        )
        try:
            await DjangoSessionService(lease_token=claim.lease_token).append_event(session, event)
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


async def _take_part(session_id: UUID) -> None:
    rival = Rival(session_id)
    rounds = {"duel": rival.duel, "overtake": rival.overtake}
    while word := sys.stdin.readline():  # nothing else is to run meanwhile
        await rounds[word.strip()]()
        _say("done")
    _say(
        {
            "stored": rival.stored,
            "refused": rival.refused,
            "ended_in_vain": rival.ended_in_vain,
            "known": await rival.known(),
        }
    )
    await close_pool()


def _say(what: Any) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    """Begin, in a process where Django is set up; the argument is the session's id."""
    asyncio.run(_take_part(UUID(sys.argv[1])))
