"""What holds for every run of every tree of agents, whatever fails and wherever it is cut off (L3-L7, S3, S4, R1, R2).

The same run on the in-memory services and on PostgreSQL gives the same events.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.apps import App, ResumabilityConfig
from runtime.engine.seal import seal_events
from runtime.events import Event
from runtime.events.calls import answered_ids
from runtime.models import LlmRequest
from runtime.run_config import RunConfig, StreamingMode
from runtime.runners import Runner
from runtime.sessions import BaseSessionService, InMemorySessionService, Session
from sessions_app import models
from sessions_app.services import DjangoSessionService
from sessions_app.shutdown import shut_down
from tests.acceptance.generated import Cast, Node, has_parallel, trees
from tests.fakes import say

NO_LIMITS = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}
numbers = count()


@dataclass(frozen=True)
class Scenario:
    """A tree, how it is run, and after how many events the listener of the first invocation leaves."""

    tree: Node
    is_resumable: bool
    is_streaming: bool
    leave_after: int | None


SCENARIOS = st.builds(
    Scenario, trees(may_fail=True), st.booleans(), st.booleans(), st.one_of(st.none(), st.integers(1, 8))
)


@dataclass(frozen=True)
class Outcome:
    """What two invocations in a row came to: all that was stored, and how the first one ended."""

    cast: Cast
    session: Session
    is_complete: bool


@pytest.fixture
def ada(transactional_db: None) -> str:
    return str(get_user_model().objects.create_user("ada").pk)


@given(SCENARIOS)
@settings(max_examples=150, **NO_LIMITS)
def test_every_run_leaves_a_log_that_tells_all(scenario: Scenario) -> None:
    outcome = asyncio.run(play(scenario, InMemorySessionService(), "ada"))
    assert broken_rules(outcome) == []


@given(SCENARIOS)
@settings(max_examples=40, **NO_LIMITS)
def test_the_same_run_on_postgresql_gives_the_same_events(ada: str, scenario: Scenario) -> None:
    in_memory = asyncio.run(play(scenario, InMemorySessionService(), ada))
    on_postgresql = asyncio.run(play_on_postgresql(scenario, ada))
    assert broken_rules(on_postgresql) == []
    if has_parallel(scenario.tree):
        assert_alike_by_branch(in_memory, on_postgresql)
    else:
        assert bare(on_postgresql.session.events) == bare(in_memory.session.events)
        assert on_postgresql.session.state == in_memory.session.state


@given(trees(may_fail=False), st.data())
@settings(max_examples=100, **NO_LIMITS)
def test_an_invocation_that_is_cut_off_anywhere_ends_as_if_it_had_not_been(
    tree: Node, data: st.DataObject
) -> None:
    """R1: in a resumable app."""
    cast, whole = asyncio.run(run_once(tree, []))
    log = whole.events[: data.draw(st.integers(1, len(whole.events)))]
    again, session = asyncio.run(run_once(tree, log))
    assert told_by_branch(session.events) == told_by_branch(whole.events)
    assert session.state == whole.state
    assert set(again.ran) == set(cast.ran) - answered_ids(log)


async def play(scenario: Scenario, sessions: BaseSessionService, user_id: str) -> Outcome:
    """Two messages: the first one's listener may leave, what it left open is sealed, as a site does."""
    cast = Cast(scenario.tree)
    app_name = f"shop-{next(numbers)}"
    config = ResumabilityConfig(is_resumable=scenario.is_resumable)
    app = App(name=app_name, root_agent=cast.root, resumability_config=config)
    runner = Runner(app=app, session_service=sessions)
    key = {"app_name": app_name, "user_id": user_id, "session_id": "s1"}
    await sessions.create_session(**key, state={"begun": True, "user:begun": True})
    mode = StreamingMode.SSE if scenario.is_streaming else StreamingMode.NONE
    is_complete = True
    for number, leave_after in enumerate((scenario.leave_after, None)):
        run = runner.run_async(
            user_id=user_id,
            session_id="s1",
            new_message=say(f"message {number}"),
            invocation_id=f"e-{number}",
            run_config=RunConfig(streaming_mode=mode),
        )
        is_complete &= await listen(run, sessions, key, leave_after)
        session = await loaded(sessions, key)
        for seal in seal_events(session.events, f"e-{number}", "interrupted"):
            await sessions.append_event(session, seal)
    return Outcome(cast, await loaded(sessions, key), is_complete)


async def listen(
    run: Any, sessions: BaseSessionService, key: dict[str, str], leave_after: int | None
) -> bool:
    """Take the events; each but the partial ones is stored by then (L3). Whether the run came to its end."""
    seen: list[str] = []
    try:
        async with aclosing(run):
            async for event in run:
                if not event.partial:
                    seen.append(event.id)
                    stored = [stored.id for stored in (await loaded(sessions, key)).events]
                    assert event.id == stored[-1]
                    assert [each for each in stored if each in seen] == seen
                if leave_after is not None and len(seen) >= leave_after:
                    return False
    except LookupError:
        return False
    return True


async def play_on_postgresql(scenario: Scenario, user_id: str) -> Outcome:
    try:
        outcome = await play(scenario, DjangoSessionService(), user_id)
        session = outcome.session
        rows = models.Event.objects.filter(session__app_name=session.app_name).order_by("seq")
        seqs = [row.seq async for row in rows]
        assert seqs == list(range(1, len(session.events) + 1))
        return outcome
    finally:
        await shut_down()


async def run_once(tree: Node, log: Sequence[Event]) -> tuple[Cast, Session]:
    """One invocation of a resumable app from its message, or from a log that it left."""
    said: dict[str, int] = defaultdict(int)
    for event in log:
        said[event.author] += bool(event.content and event.content.role == "model")
    cast = Cast(tree, said=said)
    sessions = InMemorySessionService()
    app = App(name="shop", root_agent=cast.root, resumability_config=ResumabilityConfig(is_resumable=True))
    session = await sessions.create_session(app_name="shop", user_id="ada", session_id="s1")
    for event in log:
        await sessions.append_event(session, event.model_copy(deep=True))
    message = None if log else say("go")
    run = Runner(app=app, session_service=sessions).run_async(
        user_id="ada", session_id="s1", invocation_id="e-1", new_message=message
    )
    async for _ in run:
        pass
    return cast, await loaded(sessions, {"app_name": "shop", "user_id": "ada", "session_id": "s1"})


async def loaded(sessions: BaseSessionService, key: dict[str, str]) -> Session:
    session = await sessions.get_session(**key)
    assert session is not None
    return session


def broken_rules(outcome: Outcome) -> list[str]:
    """The rules for a log that this one breaks."""
    session = outcome.session
    state: dict[str, Any] = {"begun": True, "user:begun": True}
    for event in session.events:
        state.update(event.actions.state_delta)
    waiting = {call_id for event in session.events for call_id in event.long_running_tool_ids or ()}
    made = {call.id for event in session.events for call in event.get_function_calls()}
    rules = {
        "L3: a tool runs when its call is committed": outcome.cast.uncommitted == [],
        "L4: no partial event is stored": not any(event.partial for event in session.events),
        "no event is stored twice": len({event.id for event in session.events}) == len(session.events),
        "S3, S4: the state is what the events made it": session.state == state,
        "what is temporary is not stored": not any(key.startswith("temp:") for key in state),
        "R2: a call is answered or waits": made - answered_ids(session.events) <= waiting,
        "A7: a model is asked with answered calls": all(map(are_calls_answered, outcome.cast.requests)),
    }
    return [rule for rule, holds in rules.items() if not holds]


def are_calls_answered(request: LlmRequest) -> bool:
    """Whether each content with calls is followed by their responses: a model refuses others (A7)."""
    for content, following in pairwise([*request.contents, None]):
        calls = [part.function_call.name for part in content.parts or [] if part.function_call]
        parts = (following.parts if following else None) or []
        if calls and [part.function_response.name for part in parts if part.function_response] != calls:
            return False
    return True


def assert_alike_by_branch(one: Outcome, other: Outcome) -> None:
    """Side by side the order is open, and so is how far the others are when one fails or the listener leaves."""
    ours, theirs = told_by_branch(one.session.events), told_by_branch(other.session.events)
    if one.is_complete and other.is_complete:
        assert ours == theirs
        assert one.session.state == other.session.state


def told_by_branch(events: Sequence[Event]) -> dict[str | None, list[dict[str, Any]]]:
    told = defaultdict(list)
    for event, fields in zip(events, bare(events), strict=True):
        told[event.branch].append(fields)
    return dict(told)


def bare(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The events without what differs from run to run."""
    differs = {"id", "timestamp", "long_running_tool_ids"}
    return [
        event.model_dump(mode="json", exclude=differs, exclude_none=True)
        | {"waiting": sorted(event.long_running_tool_ids or ())}
        for event in events
    ]
