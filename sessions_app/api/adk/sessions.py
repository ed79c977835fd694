"""Sessions of a person with an app: create, get, list, change, delete; their spans, and the memory made of them."""

from collections.abc import AsyncIterator
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Body, Router, Schema

from runtime.events import Event as RuntimeEvent
from sessions_app.api.access.callers import actor_of, caller_of
from sessions_app.api.adk.names import AdkSchema, fields_named, person_of, session_of
from sessions_app.data_protection.transcripts.session_json import stream_session, stream_sessions
from sessions_app.errors import NotFoundError
from sessions_app.history.telemetry.span_json import spans_of_session
from sessions_app.models import Scope
from sessions_app.process.threads import in_thread
from sessions_app.store.memory_service import DjangoMemoryService
from sessions_app.store.session_service import DjangoSessionService
from sessions_app.use_cases import change_client_state, create_client_session, delete_client_session

SESSIONS = "/apps/{app_name}/users/{user_id}/sessions"
SESSION = SESSIONS + "/{session_id}"
MEMORY = "/apps/{app_name}/users/{user_id}/memory"
router = Router(by_alias=True)


class SessionJson(AdkSchema):
    """A session with its events, which `Event` of google-adk describes."""

    id: str
    app_name: str
    user_id: str
    state: dict[str, Any]
    events: list[dict[str, Any]]
    last_update_time: float


class NewSession(AdkSchema):
    """A session to create.

    Attributes:
        session_id: id of the session; without it, a random id.
        events: a conversation to begin with.
    """

    session_id: str | None = None
    state: dict[str, Any] | None = None
    events: list[RuntimeEvent] | None = None


class StateChange(AdkSchema):
    """New values of a session's state by key."""

    state_delta: dict[str, Any]


class RememberedSession(AdkSchema):
    """A session to remember."""

    session_id: str


class Memories(Schema):
    """Entries of the memory, best first, as `MemoryEntry` of google-adk describes them."""

    memories: list[dict[str, Any]]


@router.get(SESSIONS, response=list[SessionJson], tags=["sessions"])
async def list_sessions(request: HttpRequest, app_name: str, user_id: str) -> StreamingHttpResponse:
    """List the sessions of the person with the app, without their events."""
    person = await person_of(request, Scope.READ, app_name, user_id)
    return _streamed(stream_sessions(person, app_name, user_id))


@router.post(SESSIONS, response=SessionJson, tags=["sessions"])
async def create_session(
    request: HttpRequest, app_name: str, user_id: str, new: Body[NewSession | None] = None
) -> StreamingHttpResponse:
    """Create a session, and with `events` restore a conversation in it."""
    with fields_named(session_id="sessionId"):
        return await _create(request, app_name, user_id, new or NewSession())


@router.post(SESSION, response=SessionJson, tags=["sessions"])
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


@router.get(SESSION, response=SessionJson, tags=["sessions"])
async def get_session(
    request: HttpRequest, app_name: str, user_id: str, session_id: str
) -> StreamingHttpResponse:
    """Return the session with its events."""
    session = await session_of(request, Scope.READ, app_name, user_id, session_id)
    return _streamed(stream_session(session, user_id))


@router.patch(SESSION, response=SessionJson, tags=["sessions"])
async def update_session(
    request: HttpRequest, app_name: str, user_id: str, session_id: str, change: StateChange
) -> StreamingHttpResponse:
    """Change the state of the session, by an event."""
    session = await session_of(request, Scope.READ, app_name, user_id, session_id)
    person = await person_of(request, Scope.MANAGE, app_name, user_id)
    with fields_named(state_delta="stateDelta"):
        changed = await change_client_state(actor_of(request, person), session, change.state_delta)
    return _streamed(stream_session(changed, user_id))


@router.delete(SESSION, tags=["sessions"])
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


@router.get(
    "/dev/apps/{app_name}/debug/trace/session/{session_id}", response=list[dict[str, Any]], tags=["debug"]
)
async def session_trace(request: HttpRequest, app_name: str, session_id: str) -> list[dict[str, Any]]:
    """Return the spans of a session of the caller's own person; none for the session of another person."""
    # The address of google-adk's server names no user, so only the caller's own sessions are found.
    own = str(caller_of(request).user.pk)
    try:
        session = await session_of(request, Scope.READ, app_name, own, session_id)
    except NotFoundError:
        return []
    return await in_thread(spans_of_session, session)


@router.patch(MEMORY, tags=["memory"])
async def add_session(request: HttpRequest, app_name: str, user_id: str, added: RememberedSession) -> None:
    """Store the memory entries of the session. They replace entries of the session that were stored earlier."""
    session = await session_of(request, Scope.MANAGE, app_name, user_id, added.session_id)
    loaded = await DjangoSessionService().get_session(**session.runtime_args)
    if loaded is not None:
        await DjangoMemoryService().add_session_to_memory(loaded)


@router.get(MEMORY, response=Memories, tags=["memory"])
async def search(request: HttpRequest, app_name: str, user_id: str, query: str = "") -> dict[str, Any]:
    """Search the person's memory of the app. google-adk's server has no address for this."""
    person = await person_of(request, Scope.READ, app_name, user_id)
    found = await DjangoMemoryService().search_memory(app_name=app_name, user_id=str(person.pk), query=query)
    return {"memories": [memory.model_dump(mode="json", exclude_none=True) for memory in found.memories]}
