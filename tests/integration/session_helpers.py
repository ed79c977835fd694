"""Sessions, events and leases on PostgreSQL: helpers of the tests of appends, leases and services."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypedDict
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from runtime.events import Event, EventActions
from runtime.sessions import Session
from sessions_app import models
from sessions_app.data_protection.packing import pack_session
from sessions_app.history.figures.batches import count_figures, recount_all_sessions
from sessions_app.shutdown import shut_down
from sessions_app.store import DjangoSessionService
from sessions_app.store.sql import invocation_queue, leases
from sessions_app.store.sql.invocation_queue import NewInvocation
from sessions_app.store.sql.leases import Claim
from tests.fakes import text_content

APP = "shop"
MESSAGE = {"role": "user", "parts": [{"text": "hello"}]}


class SessionKey(TypedDict):
    """Arguments by which the services find a session."""

    app_name: str
    user_id: str
    session_id: str


def key_of(session: Session) -> SessionKey:
    return {"app_name": APP, "user_id": session.user_id, "session_id": session.id}


def text_event(text: str, **delta: Any) -> Event:
    """Return an event of the agent with a text and a state delta."""
    return Event(author="clerk", content=text_content(text), actions=EventActions(state_delta=delta))


def delta_event(**delta: Any) -> Event:
    """Return an event with a state delta and no content."""
    return Event(author="clerk", actions=EventActions(state_delta=delta))


def texts(session: Session) -> list[str]:
    return [event.text() for event in session.events]


async def create_session(
    person: User, state: dict[str, Any] | None = None, session_id: str | None = None
) -> Session:
    return await DjangoSessionService().create_session(
        app_name=APP, user_id=str(person.pk), state=state, session_id=session_id
    )


async def load_session(session: Session) -> Session:
    loaded = await DjangoSessionService().get_session(**key_of(session))
    assert loaded is not None
    return loaded


async def session_row(session: Session) -> models.Session:
    return await models.Session.objects.aget(app_name=APP, user_id=session.user_id, key=session.id)


async def event_rows(session: Session) -> list[models.Event]:
    return [event async for event in (await session_row(session)).events.order_by("seq")]


async def shared_state(person: User) -> dict[str, Any]:
    """Return the user and app state, read from a new session."""
    return (await create_session(person)).state


async def enqueue_message(session: Session, client_id: str = "m1", invocation_id: str = "e-1") -> UUID:
    """Queue an invocation in the session; return the session's primary key."""
    pk = (await session_row(session)).pk
    await invocation_queue.enqueue(
        NewInvocation(
            pk,
            user_id=int(session.user_id),
            invocation_id=invocation_id,
            client_id=client_id,
            message=MESSAGE,
        )
    )
    return pk


async def claim_invocation(session: Session, owner: str = "one") -> Claim:
    """Queue an invocation and claim it."""
    claim = await leases.claim_next(await enqueue_message(session), owner=owner, lease_seconds=60)
    assert claim is not None
    return claim


async def expire_lease(claim: Claim) -> None:
    """Move the end of the lease to the past, as if its owner had died."""
    past = timezone.now() - timedelta(seconds=1)
    await models.Session.objects.filter(pk=claim.session_id).aupdate(lease_expires_at=past)


async def take_over(claim: Claim, owner: str = "two") -> Claim:
    """Let the lease expire and claim the session's invocation for another owner."""
    await expire_lease(claim)
    assert await leases.take_back_expired() == [claim.session_id]
    new_claim = await leases.claim_next(claim.session_id, owner=owner, lease_seconds=60)
    assert new_claim is not None
    return new_claim


async def run_on_two_loops(*functions: Callable[[], Awaitable[None]]) -> None:
    """Run the functions concurrently, half of them on another thread's event loop with its own connection pool."""

    async def run_here(some: tuple[Callable[[], Awaitable[None]], ...]) -> None:
        await asyncio.gather(*(function() for function in some))

    async def run_in_thread() -> None:
        try:
            await run_here(functions[1::2])
        finally:
            await shut_down()

    await asyncio.gather(run_here(functions[::2]), asyncio.to_thread(asyncio.run, run_in_thread()))


def request_text(value: Any) -> str:
    """Store a value as a text of model requests; return its name, as records have it."""
    text = json.dumps(value)
    name = hashlib.sha256(text.encode()).hexdigest()[:32]
    models.RequestText.objects.get_or_create(pk=UUID(name), defaults={"text": text})
    return name


def count_all() -> None:
    """Count the figures, with the words of all events."""
    recount_all_sessions()
    while count_figures(5):
        pass


def pack(session_pk: UUID | str) -> None:
    """Pack a session that has ended, however short ago."""
    count_all()
    assert pack_session(UUID(str(session_pk)))
