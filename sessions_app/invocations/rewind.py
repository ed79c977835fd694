"""Rewind of an idle session to before an invocation, and switch to an alternative (contract R3).

Both append one event under a session lease, then reconcile jobs, answers and scheduled tasks with the events now in
effect, then show the event. A process may die between these steps; the same request, or a sweep
(`finish_interrupted_rewind`), reconciles again.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from uuid import UUID

from runtime.errors import InvocationNotFoundError
from runtime.events import Event as RuntimeEvent
from runtime.events.effective_path import Rewind
from runtime.runners import Runner
from sessions_app.agent_apps.registry import get_app
from sessions_app.base import actors
from sessions_app.base.actors import Act, ActionKind, Actor
from sessions_app.errors import ConflictError, NotFoundError
from sessions_app.history.rewinds import find_rewinds, rewound_from
from sessions_app.invocations.held_lease import hold_lease, keep_lease
from sessions_app.invocations.reconcile import reconcile_after_rewind
from sessions_app.live.process import live
from sessions_app.live.publish import publish_committed
from sessions_app.models import EventKind, Session
from sessions_app.process.threads import in_thread
from sessions_app.sessions.list.changes import take_title_of_first_message
from sessions_app.store.artifact_service import DjangoArtifactService
from sessions_app.store.session_service import CommittedEvent, DjangoSessionService, Writer


async def rewind_before(session: Session, invocation_id: str, by: Actor) -> None:
    """Rewind the session to before the invocation. Idempotent until the next message.

    Jobs, answers and scheduled tasks of the undone invocations are cancelled; calls answered by them wait again.

    Raises:
        NotFoundError: there is no such invocation, or it was rewound before the last message.
        ConflictError: an invocation runs or is queued.
    """
    async with hold_lease(session.pk) as lease_token:
        if await _was_just_rewound(session, invocation_id):
            # An earlier request may have crashed before this.
            await reconcile_after_rewind(session, lease_token, by)
            return
        rewind = partial(Runner.rewind_async, rewind_before_invocation_id=invocation_id)
        act = Act(by, ActionKind.REWIND, ("invocation", invocation_id))
        await _append_rewind(session, lease_token, rewind, act)


async def switch_to(session: Session, seq: int, by: Actor) -> None:
    """Bring back the alternative with the event `seq`, as it was left. Idempotent.

    The current events after the fork become an alternative; their jobs, answers and scheduled tasks are cancelled, as
    by a rewind. Waiting questions of the restored alternative wait again. If the first message changes, so does the
    title.

    Raises:
        NotFoundError: no alternative has such an event.
        ConflictError: an invocation runs or is queued.
    """
    async with hold_lease(session.pk) as lease_token:
        left_by = await in_thread(_find_rewind_that_left, session, seq)
        if left_by is None:  # An earlier request may have crashed between its event and the reconciliation.
            await reconcile_after_rewind(session, lease_token, by)
            if await in_thread(_find_rewind_at_end, session) is None:
                return
        else:
            undo = partial(Runner.undo_rewind_async, rewind_event_id=left_by.event_id)
            await _append_rewind(session, lease_token, undo, Act(by, ActionKind.SWITCH, ("event", str(seq))))
    if await in_thread(take_title_of_first_message, session):
        live().list_news.publish(session.user_id)


def _find_rewind_that_left(session: Session, seq: int) -> Rewind | None:
    """Return the rewind by which the event is out of effect, the last of several; None when it is in effect.

    Raises:
        NotFoundError: the session has no such event.
    """
    path = find_rewinds(session.pk).path
    left_by = path.undone_by(seq)
    if left_by is None and not (seq in path and session.events.filter(seq=seq).exists()):
        raise NotFoundError("There is no such version in this chat.")
    return left_by


async def finish_interrupted_rewind(session_id: UUID, lease_token: int) -> None:
    """Reconcile a session whose log ends with a rewind, since the rewinding process may have died. Idempotent.

    Args:
        lease_token: token of the lease that was taken over. It is released.
    """
    with suppress(ConflictError):
        async with keep_lease(session_id, lease_token):
            session = await in_thread(Session.objects.select_related("user").filter(pk=session_id).first)
            if session is None:
                return
            if await in_thread(_find_rewind_at_end, session) is not None:
                await reconcile_after_rewind(session, lease_token, actors.person(session.user))


async def _was_just_rewound(session: Session, invocation_id: str) -> bool:
    """Return True if a rewind to this place is the last event of the session, apart from changes of state."""
    last = await in_thread(_find_rewind_at_end, session)
    return last is not None and last.undoes is None and last.invocation_id == invocation_id


def _find_rewind_at_end(session: Session) -> Rewind | None:
    """Return the last event of the session, apart from changes of state, if it is a rewind."""
    steps = find_rewinds(session.pk).path.steps
    if not steps or session.events.after(steps[-1].rewind.position).exclude(kind=EventKind.STATE).exists():
        return None
    return steps[-1].rewind


async def _append_rewind(
    session: Session, lease_token: int, append: Callable[..., Awaitable[RuntimeEvent]], act: Act
) -> None:
    """Append a rewind event with a method of the `Runner`, reconcile, and show the event in open tabs."""
    committed: list[CommittedEvent] = []
    runner = Runner(
        app=get_app(session.app_name),
        session_service=DjangoSessionService(
            Writer(lease_token=lease_token, act=act, on_commit=committed.append)
        ),
        artifact_service=DjangoArtifactService(),
    )
    try:
        await append(runner, user_id=str(session.user_id), session_id=session.key)
    except InvocationNotFoundError as error:
        raise NotFoundError(
            "That message is not in this chat any more: it may have been replaced already."
        ) from error
    try:
        await reconcile_after_rewind(session, lease_token, act.by)
    finally:
        for commit in committed:  # Last: at this event a tab reads the statuses, which must be reconciled.
            first_rewound = await rewound_from(session.pk, commit.seq)
            publish_committed(live().hub, commit, rewound_from=first_rewound)
