"""The contents cache is bounded by bytes and goes with the sessions (contract A7)."""

from __future__ import annotations

import asyncio
import gc
from weakref import ref

import pytest

from adk_site.garbage_collection import exclude_permanent_objects
from runtime import types
from runtime.agents import InvocationContext, LlmAgent
from runtime.engine.contents import build_contents
from runtime.sessions import InMemorySessionService, Session
from tests.unit.runtime.engine.histories import said, user

AGENT = LlmAgent(name="agent")


class CollectableId(str):
    """Session id whose garbage collection shows that nothing of the session is cached."""


def session_with(*earlier: types.Part, branch: str = "p.agent") -> Session:
    """Return a session with an invocation for each of these parts, and one that begins."""
    session = Session(id="", app_name="shop", user_id="ada")
    session.events = [
        said("", author="agent", branch=branch, invocation_id=f"e-{i}") for i in range(len(earlier))
    ]
    for event, part in zip(session.events, earlier, strict=True):
        event.content = types.Content(role="model", parts=[part])
    session.events.append(user("hello", invocation_id="e-now"))
    return session


def build_request(session: Session, number: int) -> ref[CollectableId]:
    """Build a request in the session; return an id that only the cache keeps."""
    name = CollectableId(f"kept {number}")
    session.id = name
    ctx = InvocationContext(
        invocation_id="e-now",
        agent=AGENT,
        session=session,
        session_service=InMemorySessionService(),
        branch="p.agent",
    )
    asyncio.run(build_contents(AGENT, ctx))
    session.id = ""
    return ref(name)


def are_cached(sessions: list[Session]) -> list[bool]:
    """Build a request in each of the sessions, and return for each True if something of it is cached."""
    names = [build_request(session, number) for number, session in enumerate(sessions)]
    gc.collect()
    return [name() is not None for name in names]


def image(size: int) -> types.Part:
    return types.Part(inline_data=types.Blob(data=bytes(size), mime_type="image/png"))


@pytest.fixture(autouse=True, scope="module")
def few_objects() -> None:
    """Let a collection find the objects of these tests only: all that earlier tests left take it a second."""
    exclude_permanent_objects()


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.engine.contents_cache.MAX_CACHED_BYTES", 100_000)


def test_the_first_invocation_of_a_session_is_not_cached() -> None:
    """The session of an agent that runs as a tool never has a second one."""
    assert are_cached([session_with(), session_with()]) == [False, False]


@pytest.mark.parametrize(
    "part",
    [
        image(40_000),
        types.Part(text="x" * 40_000),
        types.Part(function_response=types.FunctionResponse(name="f", response={"result": "x" * 40_000})),
    ],
    ids=["image", "text", "result"],
)
def test_the_least_recently_used_sessions_are_evicted(part: types.Part) -> None:
    if part.function_response:
        sessions = [
            session_with(types.Part(function_call=types.FunctionCall(name="f", id="c")), part) for _ in "1234"
        ]
        part.function_response.id = "c"
        for session in sessions:
            session.events[1].invocation_id = session.events[0].invocation_id
    else:
        sessions = [session_with(part) for _ in "1234"]
    assert are_cached(sessions) == [False, False, True, True]


def test_sessions_without_contents_for_the_agent_are_evicted_too() -> None:
    cached = are_cached([session_with(types.Part(text="hi"), branch="p.other") for _ in range(300)])
    assert 0 < sum(cached) < 300


def test_nothing_is_kept_of_sessions_that_are_gone() -> None:
    sessions = [session_with(image(10)) for _ in range(3)]
    names = [build_request(session, number) for number, session in enumerate(sessions)]
    del sessions[0]
    gc.collect()
    assert [name() is not None for name in names] == [False, True, True]
