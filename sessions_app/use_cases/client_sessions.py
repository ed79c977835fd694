"""Use cases of programs: sessions with a key, state and earlier events, which the program brings along.

A program may restore a conversation that another system has kept. Its events must look like a conversation and nothing
more: pending calls, confirmations, rewinds and the site's marks would let a program forge approvals or change what is
in effect. `_claim_of` lists what is refused, and `_append_all` removes the marks.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import uuid4

from runtime.errors import AlreadyExistsError
from runtime.events import Event as RuntimeEvent
from runtime.events import EventActions
from runtime.sessions import Session as RuntimeSession
from sessions_app.base.actors import Act, ActionKind, UserActor
from sessions_app.base.codec import check_storable
from sessions_app.data_protection.erase import ErasureOrder, erase_session
from sessions_app.errors import ConflictError, InvalidInputError, NotFoundError, TooLargeError
from sessions_app.invocations.state_delta import append_change, check_change
from sessions_app.live.process import live
from sessions_app.live.publish import publish_committed
from sessions_app.models import Session
from sessions_app.process.threads import in_thread
from sessions_app.sessions.agent_access import require_use, usable_app
from sessions_app.sessions.list import changes
from sessions_app.sessions.ownership import own_session, own_session_by_key
from sessions_app.store.session_service import DjangoSessionService, Writer
from sessions_app.use_cases.sessions import change_session, count_new_session

RESTORED_EVENTS = 5_000
"""Maximum number of events that a client may bring along."""
RESERVED = "adk_"
"""Prefix of the framework's calls, and of the site's marks in the custom metadata of events."""
RESTORED_ACTIONS = ("state_delta", "artifact_delta", "transfer_to_agent", "skip_summarization")
"""Actions that the events of a client may have."""
CLOCK_SECONDS = 60.0
"""Tolerance for clients with a fast clock."""
_DELETED = "Deleted by its user, through ADK's addresses."


async def create_client_session(
    by: UserActor,
    app_name: str,
    network: str,
    *,
    key: str = "",
    state: Mapping[str, Any] | None = None,
    events: Sequence[RuntimeEvent] = (),
) -> Session:
    """Create a session with a key, state and the events of a conversation.

    The events change the state. Files that events name are not brought along.

    Args:
        network: network of the client, for its quota; empty without a client.
        key: session id of the ADK API; empty to use the primary key.

    Raises:
        NotFoundError: the user may use no such app.
        ConflictError: the user has a session with this key.
        InvalidInputError: the key, an event or a value of the state cannot be stored; or an event has parts reserved
            for the framework, or a timestamp in the future.
        PermissionDeniedError: the state has keys of the app.
        TooLargeError: there are too many events, or the state is too large.
        LimitExceededError: see `use_cases.create_session`.
    """
    # All checks come before the session exists, and the state is checked with the changes of all events.
    app = await usable_app(by.user, app_name)
    _check_events(events)
    changed = {key: value for event in events for key, value in event.actions.state_delta.items()}
    await check_change(app.name, by.user_pk, None, {**(state or {}), **changed})
    await count_new_session(by.user, network)
    pk = uuid4()
    names = {"app_name": app.name, "user_id": str(by.user_pk), "session_id": key.strip() or str(pk)}
    try:
        loaded = await DjangoSessionService().create_session(**names, state=dict(state or {}), pk=pk)
    except AlreadyExistsError as error:
        raise ConflictError(f"The session {key!r} exists already. Get it, or choose another id.") from error
    if events:
        await _append_all(by, loaded, events)
    return await own_session(by.user, pk)


async def change_client_state(by: UserActor, session: Session, delta: Mapping[str, Any]) -> Session:
    """Append an event with a state change to the user's session. Return the changed session.

    Raises:
        AgentClosedError: the user may not use the app.
        PermissionDeniedError: the change has keys of the app.
        InvalidInputError: a value is not JSON that can be stored.
        TooLargeError: the state would be too large.
        NotFoundError: the session was erased in the meantime.
    """
    await require_use(by.user_pk, session.app_name)
    await check_change(session.app_name, by.user_pk, session.pk, delta)
    act = Act(by, ActionKind.CHANGE, ("state", ", ".join(delta)))
    service = DjangoSessionService(Writer(act=act, on_commit=partial(publish_committed, live().hub)))
    await append_change(service, session, delta)
    return await own_session(by.user, session.pk)


async def delete_client_session(by: UserActor, app_name: str, key: str) -> None:
    """Erase the user's session with this key, if any. The key can be used again.

    Raises:
        LegalHoldError: the session must not be deleted.
    """
    try:
        session = await own_session_by_key(by.user, app_name, key)
    except NotFoundError:
        return
    # Unlike in the chat there is no time to undo: a deleted session would keep its key until the sweep erases it.
    await change_session(by, session.pk, changes.DELETE)
    with suppress(NotFoundError):  # erased by a sweep meanwhile
        await in_thread(erase_session, session.pk, ErasureOrder(reason=_DELETED, by=by.user_pk))


def _check_events(events: Sequence[RuntimeEvent]) -> None:
    if len(events) > RESTORED_EVENTS:
        raise TooLargeError(
            f"The conversation has {len(events)} events; the limit is {RESTORED_EVENTS}.", field="events"
        )
    latest = time.time() + CLOCK_SECONDS
    for number, event in enumerate(events):
        if claimed := _claim_of(event):
            raise InvalidInputError(
                f"Event {number} of the conversation has {claimed}. Leave it out.", field="events"
            )
        if not 0 <= event.timestamp <= latest:
            raise InvalidInputError(
                f"Event {number} of the conversation has the timestamp {event.timestamp}, which is in the future or "
                "before 1970. Give seconds since 1970, or leave the timestamp out.",
                field="events",
            )
        check_storable(event, "events")


def _claim_of(event: RuntimeEvent) -> str:
    """Return a description of a part reserved for the framework; empty if the event has none."""
    if event.long_running_tool_ids:
        return "calls that wait for an answer"
    if event.actions != EventActions(**event.actions.model_dump(include=set(RESTORED_ACTIONS))):
        return "actions of the framework"
    names = [call.name for call in event.get_function_calls()]
    names += [response.name for response in event.get_function_responses()]
    return "calls of the framework" if any((name or "").startswith(RESERVED) for name in names) else ""


async def _append_all(by: UserActor, loaded: RuntimeSession, events: Sequence[RuntimeEvent]) -> None:
    """Append the events without the site's marks."""
    # Without a lease: nobody else knows the id of the session yet.
    act = Act(by, ActionKind.ADD, ("session", loaded.id), "Brought along by a client.")
    service = DjangoSessionService(Writer(act=act))
    for event in events:
        marks = event.custom_metadata or {}
        event.custom_metadata = {key: value for key, value in marks.items() if RESERVED not in key} or None
        event.actions.artifact_delta.clear()
        await service.append_event(loaded, event)
        service = DjangoSessionService()  # the act is recorded once, with the first event
