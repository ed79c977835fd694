"""Going back to before an invocation, in a session where nothing runs (spec R3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import UUID

from runtime.errors import InvocationNotFoundError
from runtime.runners import Runner
from sessions_app.agent_registry import get_app
from sessions_app.conf import conf
from sessions_app.db import session_lease
from sessions_app.errors import ConflictError, NotFoundError, StaleLeaseError
from sessions_app.history.rewinds import rewound_from
from sessions_app.invocations.reconcile import settle_what_waits
from sessions_app.invocations.worker import worker
from sessions_app.live.frames import EventNews, event_frame
from sessions_app.live.process import live
from sessions_app.models import EventKind, Session
from sessions_app.rendering import render_event
from sessions_app.services.artifact_service import DjangoArtifactService
from sessions_app.services.session_service import CommittedEvent, DjangoSessionService

BUSY = "An answer is being written in this conversation. Stop it first, then try again."


async def go_back_before(session: Session, invocation_id: str) -> None:
    """Undo the invocation and all after it; what waited in them is cancelled, and what was answered there waits again.

    Safe to repeat: while nobody has said anything since, nothing is undone again.

    Raises:
        NotFoundError: there is no such invocation, or the conversation has gone another way since it was rewound.
        ConflictError: something runs, or is queued.
    """
    async with _held(session.pk) as lease_token:
        try:
            if not await _stands_before(session, invocation_id):
                await _rewind(session, invocation_id, lease_token)
        finally:  # who went back there before may have died over this
            await settle_what_waits(session)


@asynccontextmanager
async def _held(session_id: UUID) -> AsyncGenerator[int]:
    """The session's lease, so that nothing begins meanwhile. What was sent meanwhile runs afterwards."""
    lease_token = await session_lease.acquire(
        session_id, owner=worker().owner, lease_seconds=conf().lease_seconds
    )
    if lease_token is None:
        raise ConflictError(BUSY)
    try:
        yield lease_token
    finally:
        if await session_lease.release(session_id, lease_token):
            await worker().start_next(session_id)


async def _stands_before(session: Session, invocation_id: str) -> bool:
    """Whether the last thing that was done in the conversation is to go back there."""
    last = await session.events.rewinds().order_by("-seq").afirst()
    if last is None or last.body["actions"]["rewindBeforeInvocationId"] != invocation_id:
        return False
    return not await session.events.after(last.seq).exclude(kind=EventKind.STATE).aexists()


async def _rewind(session: Session, invocation_id: str, lease_token: int) -> None:
    committed: list[CommittedEvent] = []
    runner = Runner(
        app=get_app(session.app_name),
        session_service=DjangoSessionService(lease_token=lease_token, on_commit=committed.append),
        artifact_service=DjangoArtifactService(),
    )
    try:
        await runner.rewind_async(
            user_id=str(session.user_id), session_id=session.key, rewind_before_invocation_id=invocation_id
        )
    except InvocationNotFoundError as error:
        raise NotFoundError(
            "That message is not in this conversation any more: it may have been replaced already."
        ) from error
    except StaleLeaseError as error:
        raise ConflictError(BUSY) from error
    for one in committed:
        await _publish(one)


async def _publish(committed: CommittedEvent) -> None:
    session_id, seq, event = committed.session_id, committed.seq, committed.event
    html = render_event(session_id, seq, event)
    frame = event_frame(seq, committed.body, html, await rewound_from(session_id, seq))
    live().hub.publish_event(session_id, EventNews(seq, event.id, frame))
