"""Spec A7: what is kept between requests is bounded by the contents in it, and by the number of sessions."""

from __future__ import annotations

import gc
from weakref import ref

import pytest

from runtime.agents import InvocationContext, LlmAgent
from runtime.engine.contents import build_contents
from runtime.sessions import InMemorySessionService, Session
from tests.unit.runtime.engine.histories import said, user

AGENT = LlmAgent(name="agent")


class Name(str):
    """A session's id that shows whether something of the session is kept."""


def asked(number: int, earlier: int) -> ref[Name]:
    """The name of a session in which the agent was asked after so many invocations that say nothing to its branch."""
    name = Name(f"kept {number}")
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


def kept_of_sessions(sessions: int, *, earlier: int) -> list[bool]:
    """Whether something is kept of each."""
    names = [asked(number, earlier) for number in range(sessions)]
    gc.collect()
    return [name() is not None for name in names]


def test_nothing_is_kept_of_the_first_invocation_of_a_session() -> None:
    """As the session of an agent that runs as a tool has no other."""
    assert kept_of_sessions(2, earlier=0) == [False, False]


def test_sessions_that_say_nothing_to_the_agent_are_forgotten_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.engine.contents_cache.MAX_CACHED_CONTENTS", 2)
    assert kept_of_sessions(4, earlier=1) == [False, False, True, True]
