"""Rewind of an idle session to before an invocation (contract R3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import UUID

from runtime.errors import InvocationNotFoundError
from runtime.runners import Runner
from sessions_app.agent_registry import get_app
from sessions_app.conf import conf
from sessions_app.db import session_lease
from sessions_app.db.threads import in_thread
from sessions_app.errors import ConflictError, NotFoundError, StaleLeaseError
from sessions_app.history.rewinds import rewound_from
from sessions_app.invocations.reconcile import reconcile_after_rewind
from sessions_app.invocations.worker import worker
from sessions_app.live.process import live
from sessions_app.live.publish import publish_committed
from sessions_app.models import EventKind, Session
from sessions_app.services.artifact_service import DjangoArtifactService
from sessions_app.services.session_service import CommittedEvent, DjangoSessionService

BUSY = "An answer is being written in this conversation. Stop it first, then try again."


async def rewind_before(session: Session, invocation_id: str) -> None:
    """Undo the invocation and all after it. Idempotent until the next message.

    Jobs, answers and scheduled tasks of the undone invocations are cancelled; calls that they answered wait again.

    Raises:
        NotFoundError: there is no such invocation, or it was rewound and the conversation has gone on.
        ConflictError: an invocation runs or is queued.
    """
    async with _hold_lease(session.pk) as lease_token:
        try:
            if not await _was_just_rewound(session, invocation_id):
                await _rewind(session, invocation_id, lease_token)
        finally:  # Also after a repeated rewind: the first one may have crashed before this.
            await reconcile_after_rewind(session)


@asynccontextmanager
async def _hold_lease(session_id: UUID) -> AsyncGenerator[int]:
    """Hold the session's lease, so that no invocation begins. Afterwards run what was queued in the meantime."""
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


async def _was_just_rewound(session: Session, invocation_id: str) -> bool:
    """Return True when a rewind to this place is the last event of the session, apart from changes of state."""
    last = await in_thread(session.events.rewinds().order_by("-seq").first)
    if last is None or last.body["actions"]["rewindBeforeInvocationId"] != invocation_id:
        return False
    return not await in_thread(session.events.after(last.seq).exclude(kind=EventKind.STATE).exists)


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
    for commit in committed:  # After the append rather than in it, as this needs a query.
        first_rewound = await rewound_from(session.pk, commit.seq)
        publish_committed(live().hub, commit, rewound_from=first_rewound)
