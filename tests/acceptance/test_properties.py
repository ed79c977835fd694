"""Invariants of every run of any tree of agents, with failures, interruptions, stops and reused call ids.

Contract L3-L7, S3, S4, S6, R1, R2, Q3.

The same run gives the same events on the in-memory services and on PostgreSQL.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from itertools import count, pairwise
from typing import Any, TypedDict

import pytest
from django.contrib.auth import get_user_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime import types
from runtime.apps import App, ResumabilityConfig
from runtime.engine.build_events import CALL_ID_PREFIX
from runtime.engine.seal import seal_events
from runtime.events import Event
from runtime.events.calls import answered_ids
from runtime.models import LlmRequest
from runtime.run_config import RunConfig, StreamingMode
from runtime.runners import Runner
from runtime.sessions import BaseSessionService, InMemorySessionService, Session
from sessions_app import models
from sessions_app.shutdown import shut_down
from sessions_app.store import DjangoSessionService
from tests.acceptance.generated import Call, Cast, Llm, Node, Workflow, has_parallel, trees
from tests.fakes import say


def hypothesis_settings(max_examples: int) -> settings:
    """Return settings without time limits."""
    return settings(
        max_examples=max_examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


numbers = count()


class SessionKey(TypedDict):
    """Keyword arguments that identify a session."""

    app_name: str
    user_id: str
    session_id: str


GENERATED_ID = re.compile(rf"{CALL_ID_PREFIX}[0-9a-f-]{{36}}")
CANCELLED_COMMITS = 5
"""Enough to meet the moment of the commit."""
INITIAL_STATE: dict[str, Any] = {"begun": True, "user:begun": True}


@dataclass(frozen=True)
class Scenario:
    """A tree of agents, its settings, and the events after which the first invocation is left or cancelled."""

    tree: Node
    is_resumable: bool
    is_streaming: bool
    end_after: int | None
    is_cancelled: bool


SCENARIOS = st.builds(
    Scenario,
    trees(may_fail=True),
    st.booleans(),
    st.booleans(),
    st.one_of(st.none(), st.integers(1, 8)),
    st.booleans(),
)


@dataclass(frozen=True)
class Outcome:
    """The result of two successive invocations: the stored session, and whether both ran to their end."""

    cast: Cast
    session: Session
    is_complete: bool


@pytest.fixture
def ada(transactional_db: None) -> str:
    return str(get_user_model().objects.create_user("ada").pk)


@given(SCENARIOS)
@hypothesis_settings(150)
def test_every_run_leaves_a_consistent_log(scenario: Scenario) -> None:
    outcome = asyncio.run(play(scenario, InMemorySessionService(), "ada"))
    assert broken_rules(outcome) == []


@given(SCENARIOS)
@hypothesis_settings(40)
def test_the_same_run_on_postgresql_gives_the_same_events(ada: str, scenario: Scenario) -> None:
    in_memory = asyncio.run(play(scenario, InMemorySessionService(), ada))
    on_postgresql = asyncio.run(play_on_postgresql(scenario, ada))
    assert broken_rules(on_postgresql) == []
    if has_parallel(scenario.tree):
        assert_equal_by_branch(in_memory, on_postgresql)
    else:
        assert comparable(on_postgresql.session.events) == comparable(in_memory.session.events)
        assert on_postgresql.session.state == in_memory.session.state


@pytest.mark.parametrize("is_deep", [False, True])
def test_a_run_that_is_cancelled_during_a_commit_leaves_a_consistent_log(ada: str, is_deep: bool) -> None:
    """PostgreSQL may have committed the event of the other agent, which the run then has not."""
    working = Llm(["yes", [Call("work", {}, False)]], [])
    stopping = Llm([LookupError("no model"), [Call("stop_all", {}, False)]], [])
    tree = Workflow(
        "parallel", [Workflow("sequential", [stopping]), working] if is_deep else [working, stopping]
    )
    scenario = Scenario(tree, is_resumable=False, is_streaming=False, end_after=None, is_cancelled=False)
    for _ in range(CANCELLED_COMMITS):
        assert broken_rules(asyncio.run(play_on_postgresql(scenario, ada))) == []


@given(trees(may_fail=False), st.data())
@hypothesis_settings(100)
def test_a_resumed_invocation_ends_like_an_uninterrupted_one(tree: Node, data: st.DataObject) -> None:
    """Contract R1: in a resumable app, for an interruption after any event."""
    cast, complete = asyncio.run(run_once(tree, []))
    log = complete.events[: data.draw(st.integers(1, len(complete.events)))]
    resumed_cast, resumed = asyncio.run(run_once(tree, log))
    assert group_by_branch(resumed.events) == group_by_branch(complete.events)
    assert resumed.state == complete.state
    assert set(resumed_cast.executed) == set(cast.executed) - answered_ids(log)


async def play(scenario: Scenario, sessions: BaseSessionService, user_id: str) -> Outcome:
    """Run two invocations. The first may be abandoned; open calls are then sealed, as the site does."""
    cast = Cast(scenario.tree)
    app_name = f"shop-{next(numbers)}"
    config = ResumabilityConfig(is_resumable=scenario.is_resumable)
    app = App(name=app_name, root_agent=cast.root, resumability_config=config)
    runner = Runner(app=app, session_service=sessions)
    key = SessionKey(app_name=app_name, user_id=user_id, session_id="s1")
    await sessions.create_session(**key, state=dict(INITIAL_STATE))
    mode = StreamingMode.SSE if scenario.is_streaming else StreamingMode.NONE
    is_complete = True
    for number, end_after in enumerate((scenario.end_after, None)):
        cast.begin_invocation((await load_session(sessions, key)).state)
        cast.stop = partial(runner.cancel, f"e-{number}")
        run = runner.run_async(
            user_id=user_id,
            session_id="s1",
            new_message=say(f"message {number}"),
            invocation_id=f"e-{number}",
            run_config=RunConfig(streaming_mode=mode),
        )
        stop = cast.stop if scenario.is_cancelled else None
        is_complete &= await listen(run, sessions, key, end_after, stop)
        session = await load_session(sessions, key)
        for seal in seal_events(session.events, f"e-{number}", "interrupted"):
            await sessions.append_event(session, seal)
    return Outcome(cast, await load_session(sessions, key), is_complete)


async def listen(
    run: Any,
    sessions: BaseSessionService,
    key: SessionKey,
    end_after: int | None,
    stop: Callable[[], object] | None,
) -> bool:
    """Iterate over the events; return True if the run ended and False when it failed, was left or cancelled.

    After `end_after` events the run is cancelled by `stop`, or left if there is none. Every non-partial event must be
    stored when it is yielded (contract L3). A cancelled run leaves no call open (contract R2).
    """
    seen: list[str] = []
    event = None
    try:
        async with aclosing(run):
            async for event in run:
                if not event.partial:
                    seen.append(event.id)
                    stored_ids = [stored.id for stored in (await load_session(sessions, key)).events]
                    assert event.id == stored_ids[-1]
                    assert [event_id for event_id in stored_ids if event_id in seen] == seen
                if end_after is not None and len(seen) == end_after and not event.partial:
                    if stop is None:
                        return False
                    stop()
    except LookupError:
        return False
    if event is None or not event.interrupted:
        return True
    session = await load_session(sessions, key)
    assert not seal_events(session.events, event.invocation_id, "interrupted")
    return False


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
    """Run one invocation of a resumable app from its message, or resume it from a log."""
    turns_done: dict[str, int] = defaultdict(int)
    for event in log:
        turns_done[event.author] += bool(event.content and event.content.role == "model")
    cast = Cast(tree, turns_done=turns_done)
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
    return cast, await load_session(sessions, SessionKey(app_name="shop", user_id="ada", session_id="s1"))


async def load_session(sessions: BaseSessionService, key: SessionKey) -> Session:
    session = await sessions.get_session(**key)
    assert session is not None
    return session


def broken_rules(outcome: Outcome) -> list[str]:
    """Return the rules that the log of the outcome violates."""
    session = outcome.session
    state = dict(INITIAL_STATE)
    for event in session.events:
        state.update(event.actions.state_delta)
    long_running = {call_id for event in session.events for call_id in event.long_running_tool_ids or ()}
    call_ids = {call.id for event in session.events for call in event.get_function_calls()}
    rules = {
        "L3: a call is executed after its commit": outcome.cast.uncommitted == [],
        "L4: no partial event is stored": not any(event.partial for event in session.events),
        "no event is stored twice": len({event.id for event in session.events}) == len(session.events),
        "S3, S4: the state is the sum of the deltas": session.state == state,
        "temp: keys are not stored": not any(key.startswith("temp:") for key in state),
        "R2: a call has a response or is long-running": call_ids - answered_ids(session.events)
        <= long_running,
        "Q3: a call that is not long-running has one response": are_calls_answered_once(session.events),
        "S6: a tool reads the values that tools have written": outcome.cast.misread == [],
        "A7: requests hold answered calls only": all(map(are_calls_answered, outcome.cast.requests)),
    }
    return [rule for rule, holds in rules.items() if not holds]


def are_calls_answered_once(events: Sequence[Event]) -> bool:
    """True if there are as many responses as calls of each id, apart from long-running calls."""
    long_running = {call_id for event in events for call_id in event.long_running_tool_ids or ()}
    calls = Counter(call.id for event in events for call in event.get_function_calls())
    answers = Counter(answer.id for event in events for answer in event.get_function_responses())
    return all(count == answers[call_id] for call_id, count in calls.items() if call_id not in long_running)


def are_calls_answered(request: LlmRequest) -> bool:
    """True if each content with calls is followed by their responses; models refuse other requests (A7)."""
    for content, following in pairwise([*request.contents, None]):
        calls = [part.function_call.name for part in parts_in(content) if part.function_call]
        responses = [part.function_response.name for part in parts_in(following) if part.function_response]
        if calls and responses != calls:
            return False
    return True


def parts_in(content: types.Content | None) -> list[types.Part]:
    return (content.parts or []) if content else []


def assert_equal_by_branch(first: Outcome, second: Outcome) -> None:
    """Compare complete runs branch by branch.

    The order of parallel branches is undefined, and so is their progress when another one fails or the run is
    abandoned.
    """
    if first.is_complete and second.is_complete:
        assert group_by_branch(first.session.events) == group_by_branch(second.session.events)
        assert first.session.state == second.session.state


def group_by_branch(events: Sequence[Event]) -> dict[str | None, list[dict[str, Any]]]:
    groups = defaultdict(list)
    for event, fields in zip(events, comparable(events), strict=True):
        groups[event.branch].append(fields)
    return dict(groups)


def comparable(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Return the events as dicts without the fields that differ between runs; generated call ids are numbered."""
    excluded = {"id", "timestamp", "long_running_tool_ids"}
    fields = [
        event.model_dump(mode="json", exclude=excluded, exclude_none=True)
        | {"long_running": len(event.long_running_tool_ids or ())}
        for event in events
    ]
    numbers: dict[str, str] = {}
    text = GENERATED_ID.sub(
        lambda match: numbers.setdefault(match[0], f"id-{len(numbers)}"), json.dumps(fields)
    )
    return json.loads(text)  # type: ignore[no-any-return]
