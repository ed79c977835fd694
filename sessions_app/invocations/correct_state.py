"""Correction of state by staff: an event with the changed keys, unless a value has changed since staff saw it."""

from collections.abc import Mapping
from typing import Any

from runtime.sessions.state import State
from sessions_app.base.actors import Act, ActionKind, Actor
from sessions_app.errors import ConflictError, InvalidInputError, StateChangedError
from sessions_app.invocations.held_lease import hold_lease
from sessions_app.invocations.state_delta import append_change, as_given_json
from sessions_app.live.process import live
from sessions_app.live.publish import publish_committed
from sessions_app.models import Session
from sessions_app.store.session_service import CommittedEvent, DjangoSessionService, Writer

MAX_KEY_LENGTH = 255
UNSTORABLE_KEY = f"A key that is stored has 1 to {MAX_KEY_LENGTH} characters and does not begin with 'temp:'."
CHANGED = (
    "The state has changed since you have loaded the page. Nothing was overwritten: look at the new values."
)


async def correct_state(
    session: Session, changes: Mapping[str, Any], seen: Mapping[str, str], *, by: Actor, reason: str
) -> int:
    """Append the event and return its `seq`. Agents read the new values with their next invocation.

    Args:
        changes: new values by key, with the prefix of its scope. None stands for a deleted value.
        seen: MD5 of the values seen by staff, as PostgreSQL writes them; keys without a value are absent.

    Raises:
        ConflictError: an invocation runs or is queued, or a value has changed since staff saw it.
        InvalidInputError: a key cannot be stored.
        StateValueError: a value or a key is not storable JSON (contract S8).
        NotFoundError: the session was erased in the meantime.
    """
    for key in changes:
        if not key.strip() or len(key) > MAX_KEY_LENGTH or key.startswith(State.TEMP_PREFIX):
            raise InvalidInputError(UNSTORABLE_KEY)
    values = as_given_json(changes)
    seqs: list[int] = []

    def publish(committed: CommittedEvent) -> None:
        seqs.append(committed.seq)
        publish_committed(live().hub, committed)

    async with hold_lease(session.pk) as lease_token:
        act = Act(by, ActionKind.CHANGE, ("state", ", ".join(changes)), reason)
        service = DjangoSessionService(
            Writer(lease_token=lease_token, act=act, expected=seen, on_commit=publish)
        )
        try:
            await append_change(service, session, values)
        except StateChangedError as error:
            raise ConflictError(CHANGED) from error
    return seqs[0]
