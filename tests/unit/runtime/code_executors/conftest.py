"""An invocation, as executors get it."""

from __future__ import annotations

import pytest

from runtime.agents.base_agent import BaseAgent
from runtime.context import InvocationContext
from runtime.sessions.in_memory_session_service import InMemorySessionService


@pytest.fixture
async def invocation() -> InvocationContext:
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="shop", user_id="ada")
    return InvocationContext(
        invocation_id="e-1", agent=BaseAgent(name="clerk"), session=session, session_service=sessions
    )
