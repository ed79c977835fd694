"""Memory of a person: add a session, and search."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router

from sessions_app.api.adk.names import person_of, session_of
from sessions_app.api.adk.schemas import Memories, RememberedSession
from sessions_app.models import Scope
from sessions_app.store.memory_service import DjangoMemoryService
from sessions_app.store.session_service import DjangoSessionService

MEMORY = "/apps/{app_name}/users/{user_id}/memory"
router = Router(tags=["memory"])


@router.patch(MEMORY)
async def add_session(request: HttpRequest, app_name: str, user_id: str, added: RememberedSession) -> None:
    """Store the memory entries of the session. They replace entries of the session that were stored earlier."""
    session = await session_of(request, Scope.MANAGE, app_name, user_id, added.session_id)
    loaded = await DjangoSessionService().get_session(**session.runtime_args)
    if loaded is not None:
        await DjangoMemoryService().add_session_to_memory(loaded)


@router.get(MEMORY, response=Memories)
async def search(request: HttpRequest, app_name: str, user_id: str, query: str = "") -> dict[str, Any]:
    """Search the person's memory of the app. google-adk's server has no address for this."""
    person = await person_of(request, Scope.READ, app_name, user_id)
    found = await DjangoMemoryService().search_memory(app_name=app_name, user_id=str(person.pk), query=query)
    return {"memories": [memory.model_dump(mode="json", exclude_none=True) for memory in found.memories]}
