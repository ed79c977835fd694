"""A callback's context on the in-memory services."""

from __future__ import annotations

import pytest

from runtime.agents.base_agent import BaseAgent
from runtime.context import Context, InvocationContext
from runtime.sessions.in_memory_session_service import InMemorySessionService


@pytest.fixture
async def context() -> Context:
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="shop", user_id="ada")
    return Context(
        InvocationContext(
            invocation_id="e-1", agent=BaseAgent(name="clerk"), session=session, session_service=sessions
        )
    )
