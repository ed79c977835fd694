"""The contents cache is bounded by the number of contents and of sessions (contract A7)."""

from __future__ import annotations

import gc
from weakref import ref

import pytest

from runtime.agents import InvocationContext, LlmAgent
from runtime.engine.contents import build_contents
from runtime.sessions import InMemorySessionService, Session
from tests.unit.runtime.engine.histories import said, user

AGENT = LlmAgent(name="agent")


class CollectableId(str):
    """Session id whose garbage collection shows that nothing of the session is cached."""


def build_request_in_new_session(number: int, earlier: int) -> ref[CollectableId]:
    """Build a request in a session with so many earlier invocations invisible to the agent; return its id."""
    name = CollectableId(f"kept {number}")
    session = Session(id="", app_name="shop", user_id="ada")
    session.id = name
    fields = {"author": "other", "branch": "p.other"}
    session.events = [said("not for you", **fields, invocation_id=f"e-{i}") for i in range(earlier)]
    session.events.append(user("hello", invocation_id="e-now"))
    ctx = InvocationContext(
        invocation_id="e-now",
        agent=AGENT,
        session=session,
        session_service=InMemorySessionService(),
        branch="p.agent",
    )
    assert len(build_contents(AGENT, ctx)) == 1
    return ref(name)


def are_cached(sessions: int, *, earlier: int) -> list[bool]:
    """Return for each session True when something of it is cached."""
    names = [build_request_in_new_session(number, earlier) for number in range(sessions)]
    gc.collect()
    return [name() is not None for name in names]


def test_the_first_invocation_of_a_session_is_not_cached() -> None:
    """The session of an agent that runs as a tool never has a second one."""
    assert are_cached(2, earlier=0) == [False, False]


def test_sessions_without_contents_for_the_agent_are_evicted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.engine.contents_cache.MAX_CACHED_CONTENTS", 2)
    assert are_cached(4, earlier=1) == [False, False, True, True]
