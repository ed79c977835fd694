"""DatabaseSessionService: google-adk's name for the session service of the site that runs the agents.

`runtime` does not depend on Django, so the site registers a function that creates its service.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from runtime.errors import ConfigurationError
from runtime.events.event import Event
from runtime.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from runtime.sessions.session import Session
from runtime.sessions.state import State  # noqa: F401  # programs import it from here

logger = logging.getLogger(__name__)
_make_service: Callable[[], BaseSessionService] | None = None


def set_database_session_service(make_service: Callable[[], BaseSessionService] | None) -> None:
    """Set the function that creates the session service of this process; the site calls this when it starts."""
    global _make_service
    _make_service = make_service


class DatabaseSessionService(BaseSessionService):
    """Session service of the site, which keeps sessions in the site's own database.

    Args:
        db_url: ignored with a warning: the site's database is set by `DATABASE_URL`.
        options: ignored with a warning.

    Raises:
        ConfigurationError: this process has no site.
    """

    def __init__(self, db_url: str | None = None, **options: Any) -> None:
        if _make_service is None:
            raise ConfigurationError(
                "DatabaseSessionService needs the site, whose sessions_app is in INSTALLED_APPS. Run this code in a "
                "Django process after django.setup(), or use InMemorySessionService."
            )
        if db_url is not None or options:
            logger.warning("DatabaseSessionService ignores db_url and options: it uses the site's database.")
        self._site = _make_service()

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        return await self._site.create_session(
            app_name=app_name, user_id=user_id, state=state, session_id=session_id
        )

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        return await self._site.get_session(
            app_name=app_name, user_id=user_id, session_id=session_id, config=config
        )

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        return await self._site.list_sessions(app_name=app_name, user_id=user_id)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        await self._site.delete_session(app_name=app_name, user_id=user_id, session_id=session_id)

    async def initial_state(self, *, app_name: str, user_id: str, session_id: str) -> dict[str, Any]:
        return await self._site.initial_state(app_name=app_name, user_id=user_id, session_id=session_id)

    def exclusive_writer(
        self, *, app_name: str, user_id: str, session_id: str
    ) -> AbstractAsyncContextManager[None]:
        return self._site.exclusive_writer(app_name=app_name, user_id=user_id, session_id=session_id)

    async def append_event(self, session: Session, event: Event) -> Event:
        return await self._site.append_event(session, event)
