"""One writer per session: two processes that reach for the same invocation never interleave (design.md)."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import UUID

from django.contrib.auth.models import User

from runtime import types
from runtime.events import Event
from sessions_app import hot_path
from sessions_app.errors import StaleLeaseError
from sessions_app.models import Event as Row
from sessions_app.models import Session
from sessions_app.pool import close_pool
from sessions_app.services import DjangoSessionService

ROUNDS = 1_000
EVENTS_OF_AN_INVOCATION = 3


async def _reach(session: Session, name: str, barrier: Barrier) -> int:
    """Round after round: claim what is queued, and if that works, write events and finish. Returns the rounds won."""
    won = 0
    for number in range(ROUNDS):
        await asyncio.to_thread(barrier.wait, 30)
        claim = await hot_path.claim_next(session.pk, owner=name, lease_seconds=60)
        if claim is not None:
            won += 1
            await _write(session, claim, number, name)
            await hot_path.finish(claim, status="completed")
        await asyncio.to_thread(barrier.wait, 30)
        if name == "one":
            await _enqueue(session, number + 1)
    await close_pool()
    return won


async def _write(session: Session, claim: hot_path.Claim, number: int, name: str) -> None:
    service = DjangoSessionService(lease_token=claim.lease_token)
    loaded = await service.get_session(
        app_name=session.app_name, user_id=str(session.user_id), session_id=session.key
    )
    assert loaded is not None
    for _ in range(EVENTS_OF_AN_INVOCATION):
        content = types.Content(role="model", parts=[types.Part(text=name)])
        event = Event(author="agent", invocation_id=f"e-{number}", content=content)
        await service.append_event(loaded, event)
        old = DjangoSessionService(lease_token=claim.lease_token - 1)
        try:
            await old.append_event(loaded.model_copy(), event.model_copy(update={"invocation_id": "stale"}))
        except StaleLeaseError:
            continue
        raise AssertionError("an older token was let in")


async def _enqueue(session: Session, number: int) -> UUID:
    await hot_path.enqueue(
        session.pk, user_id=session.user_id, invocation_id=f"e-{number}", client_id=f"m{number}", message={}
    )
    return session.pk


def test_two_that_reach_for_the_same_invocation_a_thousand_times_never_interleave(person: User) -> None:
    session = Session.objects.create(app_name="fence", user=person, key="fence")
    barrier = Barrier(2)

    async def begin() -> None:
        await _enqueue(session, 0)
        await close_pool()

    asyncio.run(begin())
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(asyncio.run, _reach(session, name, barrier)) for name in ("one", "two")]
        won = [run.result() for run in runs]
    assert sum(won) == ROUNDS
    rows = list(
        Row.objects.filter(session=session).order_by("seq").values_list("seq", "invocation_id", "text")
    )
    assert [seq for seq, _, _ in rows] == list(range(1, ROUNDS * EVENTS_OF_AN_INVOCATION + 1))
    assert [invocation for _, invocation, _ in rows] == [
        f"e-{number}" for number in range(ROUNDS) for _ in range(EVENTS_OF_AN_INVOCATION)
    ]
    for number in range(ROUNDS):
        authors = {text for _, _, text in rows[number * 3 : number * 3 + 3]}
        assert len(authors) == 1
