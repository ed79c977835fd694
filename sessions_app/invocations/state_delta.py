"""State deltas from clients, sent alone or with a message or an answer."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from runtime.context import new_invocation_id
from runtime.errors import StateValueError
from runtime.events import Event as RuntimeEvent
from runtime.events import EventActions
from runtime.sessions import GetSessionConfig
from runtime.sessions.state import ScopedState, State, as_json
from runtime.valid_text import storable_values
from sessions_app.base.codec import check_storable, refusing_deep_values
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError, NotFoundError, PermissionDeniedError, TooLargeError
from sessions_app.models import Session
from sessions_app.process.threads import in_thread
from sessions_app.sessions.ownership import NO_SESSION
from sessions_app.store.session_service import DjangoSessionService
from sessions_app.store.shared_state import length_of_state

DELTA = "state_delta"
"""Field of requests with the changes of a session's state."""
STATE = "state"
"""Field of requests with the state of a new session."""
MAX_STATE_CHARACTERS = 1_000_000
"""Limit for clients on the state of a session and of its person together, in characters of JSON."""


def as_given_json(delta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the delta of a person or a program as JSON values.

    Raises:
        StateValueError: a value is not JSON, or a text cannot be stored. Of an agent's code it would become U+FFFD
            (contract S8), but whoever sends this delta can correct it.
    """
    stored = as_json(delta)
    for key, value in delta.items():
        if key not in stored or stored[key] != value:
            raise StateValueError(
                f"State key {key!r} or its value holds a NUL character or half a surrogate pair, which cannot be "
                "stored. Remove it."
            )
    return stored


async def validated_delta(
    app_name: str, user_id: Any, session_id: UUID | None, delta: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the changes of the session's and the user's state to store with a message or an answer.

    Takes and raises the same as `check_change`; also raises a TooLargeError if the changes are too long.
    """
    if not delta:
        return {}
    with refusing_deep_values(DELTA):
        changes: dict[str, Any] = storable_values(dict(delta))
    await check_change(app_name, user_id, session_id, changes)
    if len(json.dumps(changes)) > conf().frame_limit:
        raise TooLargeError(
            f"The state delta has more than {conf().frame_limit} characters. Store less.", field=DELTA
        )
    return changes


async def append_change(service: DjangoSessionService, session: Session, delta: Mapping[str, Any]) -> None:
    """Append an event without content to change the state of the session.

    Raises:
        NotFoundError: the session was erased in the meantime.
    """
    # Without its events: the append needs only the session's names and state.
    loaded = await service.get_session(
        **session.runtime_args,
        config=GetSessionConfig(num_recent_events=0),
    )
    if loaded is None:
        raise NotFoundError(NO_SESSION)
    actions = EventActions(state_delta=dict(delta))
    await service.append_event(
        loaded, RuntimeEvent(author="user", invocation_id=new_invocation_id(), actions=actions)
    )


async def check_change(
    app_name: str, user_id: Any, session_id: UUID | None, delta: Mapping[str, Any]
) -> None:
    """Raise an error for a state delta not allowed to clients.

    Args:
        session_id: None for a future session.

    Raises:
        PermissionDeniedError: the delta has keys of the app, whose state belongs to everybody.
        InvalidInputError: a value is nested too deeply, or is not storable JSON.
        TooLargeError: the changed state would exceed `MAX_STATE_CHARACTERS`.
    """
    of_app = next((key for key in delta if key.startswith(State.APP_PREFIX)), None)
    if of_app is not None:
        raise PermissionDeniedError(
            f"The key “{of_app[:80]}” is state of the app, which is everybody's. Leave it out."
        )
    if not delta:
        return
    try:
        check_storable(RuntimeEvent(actions=EventActions(state_delta=dict(delta))))
        changes = ScopedState.split(as_given_json(delta))
    except (InvalidInputError, StateValueError) as error:
        raise InvalidInputError(str(error), field=DELTA if session_id else STATE) from error
    size = len(json.dumps(changes.merged()))
    size += await in_thread(length_of_state, app_name, user_id, session_id, changes)
    if size > MAX_STATE_CHARACTERS:
        raise TooLargeError(
            f"The state would have {size} characters; the limit is {MAX_STATE_CHARACTERS}. Store files instead.",
            field=DELTA if session_id else STATE,
        )
