"""A tool call's context on the in-memory services."""

from __future__ import annotations

import pytest

from runtime.agents.base_agent import BaseAgent
from runtime.artifacts.in_memory_artifact_service import InMemoryArtifactService
from runtime.context import Context, InvocationContext
from runtime.memory.in_memory_memory_service import InMemoryMemoryService
from runtime.sessions.in_memory_session_service import InMemorySessionService


@pytest.fixture
async def invocation() -> InvocationContext:
    sessions = InMemorySessionService()
    session = await sessions.create_session(
        app_name="shop", user_id="ada", session_id="s1", state={"color": "red"}
    )
    return InvocationContext(
        invocation_id="e-1",
        agent=BaseAgent(name="clerk"),
        session=session,
        session_service=sessions,
        artifact_service=InMemoryArtifactService(),
        memory_service=InMemoryMemoryService(),
    )


@pytest.fixture
def context(invocation: InvocationContext) -> Context:
    return Context(invocation, function_call_id="call-1")
