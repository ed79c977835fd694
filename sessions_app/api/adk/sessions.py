"""Sessions of a person with an app: create, get, list, change the state, delete."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Body, Router

from sessions_app.api.access.callers import actor_of, caller_of
from sessions_app.api.adk.names import fields_named, person_of, session_of
from sessions_app.api.adk.schemas import NewSession, SessionJson, StateChange
from sessions_app.data_protection.transcripts.session_json import stream_session, stream_sessions
from sessions_app.models import Scope
from sessions_app.use_cases import change_client_state, create_client_session, delete_client_session

SESSIONS = "/apps/{app_name}/users/{user_id}/sessions"
SESSION = SESSIONS + "/{session_id}"
router = Router(tags=["sessions"], by_alias=True)


@router.get(SESSIONS, response=list[SessionJson])
async def list_sessions(request: HttpRequest, app_name: str, user_id: str) -> StreamingHttpResponse:
    """List the sessions of the person with the app, without their events."""
    person = await person_of(request, Scope.READ, app_name, user_id)
    return _streamed(stream_sessions(person, app_name, user_id))


@router.post(SESSIONS, response=SessionJson)
async def create_session(
    request: HttpRequest, app_name: str, user_id: str, new: Body[NewSession | None] = None
) -> StreamingHttpResponse:
    """Create a session, and with `events` restore a conversation in it."""
    with fields_named(session_id="sessionId"):
        return await _create(request, app_name, user_id, new or NewSession())


@router.post(SESSION, response=SessionJson)
async def create_session_with_id(
    request: HttpRequest,
    app_name: str,
    user_id: str,
    session_id: str,
    state: Body[dict[str, Any] | None] = None,
) -> StreamingHttpResponse:
    """Create a session with this id. The body is its state."""
    with fields_named(session_id="path.session_id", state="body"):
        return await _create(request, app_name, user_id, NewSession(session_id=session_id, state=state))


@router.get(SESSION, response=SessionJson)
async def get_session(
    request: HttpRequest, app_name: str, user_id: str, session_id: str
) -> StreamingHttpResponse:
    """Return the session with its events."""
    session = await session_of(request, Scope.READ, app_name, user_id, session_id)
    return _streamed(stream_session(session, user_id))


@router.patch(SESSION, response=SessionJson)
async def update_session(
    request: HttpRequest, app_name: str, user_id: str, session_id: str, change: StateChange
) -> StreamingHttpResponse:
    """Change the state of the session, by an event."""
    session = await session_of(request, Scope.READ, app_name, user_id, session_id)
    person = await person_of(request, Scope.MANAGE, app_name, user_id)
    with fields_named(state_delta="stateDelta"):
        changed = await change_client_state(actor_of(request, person), session, change.state_delta)
    return _streamed(stream_session(changed, user_id))


@router.delete(SESSION)
async def delete_session(request: HttpRequest, app_name: str, user_id: str, session_id: str) -> None:
    """Erase the session; nothing when there is none."""
    person = await person_of(request, Scope.MANAGE, app_name, user_id)
    await delete_client_session(actor_of(request, person), app_name, session_id)


async def _create(
    request: HttpRequest, app_name: str, user_id: str, new: NewSession
) -> StreamingHttpResponse:
    # The response has the state that all sessions of the person share.
    caller_of(request).require(Scope.READ)
    person = await person_of(request, Scope.MANAGE, app_name, user_id)
    session = await create_client_session(
        actor_of(request, person),
        app_name,
        caller_of(request).network,
        key=new.session_id or "",
        state=new.state,
        events=new.events or (),
    )
    return _streamed(stream_session(session, user_id))


# Streamed, because a session is returned with all its events.
def _streamed(body: AsyncIterator[bytes]) -> StreamingHttpResponse:
    headers = {"Cache-Control": "private, no-store"}
    return StreamingHttpResponse(body, content_type="application/json", headers=headers)
