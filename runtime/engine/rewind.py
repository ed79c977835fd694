"""Rewind: restores the session's state and artifacts to before an invocation (contract R3).

The log is append-only, so a rewind is a further event. It names the first invocation out of effect, and carries the
changes that restore state and artifacts. Every event carries its changes, rewinds included, so the values at any
position follow from all events up to it, in the order of the log. A rewind that undoes an earlier rewind restores the
values from before the earlier rewind. `app:` and `user:` state and `user:` artifacts are not rewound, because other
sessions share them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime import types
from runtime.artifacts.base_artifact_service import BaseArtifactService
from runtime.artifacts.borrowed_artifact_service import SessionArgs
from runtime.artifacts.in_memory_artifact_service import USER_PREFIX
from runtime.context import session_args
from runtime.engine.build_events import rewind_event
from runtime.errors import ConfigurationError, InvocationNotFoundError
from runtime.events.effective_path import undone_positions
from runtime.events.event import Event
from runtime.events.event_actions import EventActions
from runtime.events.rewound import as_rewind, effective_path_of
from runtime.sessions.base_session_service import BaseSessionService
from runtime.sessions.session import Session
from runtime.sessions.state import ScopedState

EMPTY_ARTIFACT = types.Part(inline_data=types.Blob(data=b"", mime_type="application/octet-stream"))
"""New version of an artifact created after the point to restore. Events refer to versions, so none is ever deleted."""


async def rewind(
    session: Session,
    sessions: BaseSessionService,
    artifacts: BaseArtifactService | None,
    invocation_id: str,
) -> Event:
    """Return an event to undo an invocation and all later invocations. `session` must hold all its events.

    Raises:
        InvocationNotFoundError: there is no such invocation, or it was rewound already.
        ConfigurationError: artifacts have to be restored, but there is no artifact service.
    """
    first = first_rewound_index(session.events, session.id, invocation_id)
    return rewind_event(await _build_actions(session, sessions, artifacts, first, invocation_id))


async def undo_rewind(
    session: Session, sessions: BaseSessionService, artifacts: BaseArtifactService | None, rewind_id: str
) -> Event:
    """Return an event to undo a rewind. `session` must hold all its events.

    The event is a rewind as well, of the first invocation to leave the effective path.

    Raises:
        InvocationNotFoundError: there is no such rewind.
        ConfigurationError: artifacts have to be restored, but there is no artifact service.
    """
    path = effective_path_of(session.events)
    for step in path.steps:
        if step.rewind.event_id == rewind_id:
            break
    else:
        raise InvocationNotFoundError(f"Session {session.id!r} has no rewind {rewind_id!r} to undo.")
    left = undone_positions(path.spans, step.before)
    # Nothing has left the path if no event followed the rewind; the field must still name an invocation.
    invocation_id = session.events[left[0].start].invocation_id if left else step.rewind.invocation_id
    actions = await _build_actions(session, sessions, artifacts, step.rewind.position, invocation_id)
    return rewind_event(actions, undoes=rewind_id)


async def _build_actions(
    session: Session,
    sessions: BaseSessionService,
    artifacts: BaseArtifactService | None,
    first: int,
    invocation_id: str,
) -> EventActions:
    """Return the actions to restore the session to before `session.events[first]`."""
    args = session_args(session)
    events = list(session.events)
    initial = await sessions.initial_state(**args)
    return EventActions(
        rewind_before_invocation_id=invocation_id,
        state_delta=state_to_restore(initial, events, first),
        artifact_delta=await restore_artifacts(artifacts, args, events, first),
    )


def first_rewound_index(events: Sequence[Event], session_id: str, invocation_id: str) -> int:
    """Return the position of the invocation's first effective event."""
    path = effective_path_of(events)
    for index, event in enumerate(events):
        # Rewinds and summaries have invocation ids, too, but are not invocations to rewind.
        is_candidate = event.invocation_id == invocation_id and as_rewind(event, index) is None
        if is_candidate and not event.actions.compaction and index in path:
            return index
    raise InvocationNotFoundError(
        f"Session {session_id!r} has no invocation {invocation_id!r} to rewind, or it was rewound already."
    )


def state_to_restore(initial: Mapping[str, Any], events: Sequence[Event], first: int) -> dict[str, Any]:
    """Return the delta to restore the session's keys to before `events[first]`; newer keys become None."""
    before = _state_after(initial, events[:first])
    now = _state_after(initial, events)
    return {key: before.get(key) for key, value in now.items() if value != before.get(key)}


async def restore_artifacts(
    service: BaseArtifactService | None, args: SessionArgs, events: Sequence[Event], first: int
) -> dict[str, int]:
    """Save the contents from before `events[first]` as new versions; return the versions by filename."""
    before = _versions_after(events[:first])
    now = _versions_after(events)
    changed = {name: before.get(name) for name, version in now.items() if version != before.get(name)}
    if not changed:
        return {}
    if service is None:
        raise ConfigurationError(
            f"The artifacts {sorted(changed)} have to be rewound, but no artifact service is set: "
            "give the Runner an artifact_service."
        )
    return {name: await _restore(service, args, name, version) for name, version in changed.items()}


async def _restore(service: BaseArtifactService, args: SessionArgs, name: str, version: int | None) -> int:
    artifact = None
    if version is not None:
        artifact = await service.load_artifact(**args, filename=name, version=version)
    return await service.save_artifact(**args, filename=name, artifact=artifact or EMPTY_ARTIFACT)


def _state_after(initial: Mapping[str, Any], events: Sequence[Event]) -> dict[str, Any]:
    state = dict(initial)
    for event in events:
        state.update(ScopedState.split(event.actions.state_delta).session)
    return state


def _versions_after(events: Sequence[Event]) -> dict[str, int]:
    versions: dict[str, int] = {}
    for event in events:
        for name, version in event.actions.artifact_delta.items():
            if not name.startswith(USER_PREFIX):
                versions[name] = version
    return versions
