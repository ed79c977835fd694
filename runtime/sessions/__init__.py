"""Sessions: conversations, their state, and the services that keep them."""

from runtime.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from runtime.sessions.database_session_service import DatabaseSessionService
from runtime.sessions.in_memory_session_service import InMemorySessionService
from runtime.sessions.session import Session
from runtime.sessions.state import State

__all__ = [
    "BaseSessionService",
    "DatabaseSessionService",
    "GetSessionConfig",
    "InMemorySessionService",
    "ListSessionsResponse",
    "Session",
    "State",
]
