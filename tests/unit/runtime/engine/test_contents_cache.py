"""Cached contents equal the contents built from all events, for random sessions (contract A7)."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtime import types
from runtime.agents import InvocationContext, LlmAgent
from runtime.artifacts.referenced_artifacts import positions_of_files
from runtime.engine import contents
from runtime.engine.contents import BuiltContents, build_contents, contents_of
from runtime.events import Event, EventActions, EventCompaction
from runtime.events.rewound import as_rewind
from runtime.sessions import InMemorySessionService, Session
from tests.unit.runtime.engine.histories import answered, called, said, undo_of, user

SESSIONS = count()
AGENTS = {name: LlmAgent(name=name) for name in ("agent", "other")}

STEP = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(["agent", "other"]), st.sampled_from([None, "p.a", "p.b"])),
    st.tuples(st.just("call"), st.sampled_from(["agent", "other"]), st.integers(1, 2)),
    st.tuples(st.just("call again"), st.sampled_from(["agent", "other"]), st.integers(0, 3)),
    st.tuples(st.just("answer"), st.sampled_from(["agent", "user"]), st.integers(0, 3)),
    st.tuples(st.just("answer and talk"), st.just("user"), st.integers(0, 3)),
    st.tuples(st.just("state"), st.just(""), st.just(0)),
    st.tuples(st.just("rewind"), st.just(""), st.integers(0, 3)),
    st.tuples(st.just("undo"), st.just(""), st.integers(0, 3)),
    st.tuples(st.just("compact"), st.just(""), st.integers(1, 4)),
)
INVOCATION = st.lists(STEP, max_size=6)


@pytest.fixture(scope="module", autouse=True)
def short_slices() -> Iterator[None]:
    """Let these short histories have several slices."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "SLICE_EVENTS", 2)
        yield


class History:
    """Session to which random events are added.

    Attributes:
        pauses: how often the latest contents let other tasks run while they were built.
    """

    pauses = 0

    def __init__(self) -> None:
        self.session = Session(id=str(next(SESSIONS)), app_name="shop", user_id="ada")
        self.invocation = 0
        self.calls: list[str] = []

    def begin(self) -> None:
        """Begin a new invocation with a user message; every second one has a file."""
        self.invocation += 1
        message = user(f"message {self.invocation}")
        if self.invocation % 2 and message.content and message.content.parts:
            file = types.FileData(file_uri="artifact:a.txt?version=0", mime_type="text/plain")
            message.content.parts.append(types.Part(file_data=file))
        self.add(message)

    def add(self, event: Event) -> None:
        event.invocation_id = event.invocation_id or f"e-{self.invocation}"
        event.timestamp = float(len(self.session.events))
        self.session.events.append(event)

    def take(self, kind: str, who: str, what: Any) -> None:
        if kind == "say":
            self.add(said(f"words {len(self.session.events)}", author=who, branch=what))
        elif kind == "call":
            ids = [f"c{len(self.calls) + number}" for number in range(what)]
            self.calls += ids
            self.add(called(*ids, author=who))
        elif kind == "call again" and self.calls:
            self.add(called(self.calls[max(0, len(self.calls) - 1 - what)], author=who))
        elif kind.startswith("answer") and self.calls:
            call_id = self.calls[max(0, len(self.calls) - 1 - what)]
            if who == "user":
                self.invocation += 1
            results: dict[str, Any] = {call_id: len(self.session.events)}
            answer = answered(who, **results)
            if kind == "answer and talk" and answer.content and answer.content.parts:
                answer.content.parts.append(types.Part(text="and hurry"))
            self.add(answer)
        elif kind == "state":
            self.add(Event(author="admin", invocation_id="outside"))
        elif kind in ("rewind", "undo"):
            self._go_back(kind, what)
        elif kind == "compact" and len(self.session.events) > what:
            self._compact(what)

    def _go_back(self, kind: str, what: int) -> None:
        rewinds = [event for event in self.session.events if as_rewind(event, 0)]
        if kind == "rewind":
            back_to = f"e-{max(1, self.invocation - what)}"
            self.add(Event(author="user", actions=EventActions(rewind_before_invocation_id=back_to)))
        elif rewinds:
            self.add(undo_of(rewinds[-1 - min(what, len(rewinds) - 1)]))

    def _compact(self, length: int) -> None:
        content = types.Content(role="model", parts=[types.Part(text=f"summary of {length}")])
        compaction = EventCompaction(
            start_timestamp=float(length // 2), end_timestamp=float(length), compacted_content=content
        )
        self.add(Event(author="user", actions=EventActions(compaction=compaction)))

    def contents(self, agent: LlmAgent, branch: str | None = None) -> list[types.Content]:
        ctx = InvocationContext(
            invocation_id=f"e-{self.invocation}",
            agent=agent,
            session=self.session,
            session_service=InMemorySessionService(),
            branch=branch,
        )
        built = self._finish(build_contents(agent, ctx))
        assert built.with_files == positions_of_files(built.contents)
        return built.contents

    def _finish(self, building: Coroutine[Any, Any, BuiltContents]) -> BuiltContents:
        self.pauses = 0
        while True:
            try:
                building.send(None)
            except StopIteration as end:
                built: BuiltContents = end.value
                return built
            self.pauses += 1

    def cached(self, branch: str | None) -> dict[str, list[types.Content]]:
        """Return the contents for each agent, built with the cache."""
        return {name: self.contents(agent, branch) for name, agent in AGENTS.items()}

    def uncached(self, branch: str | None) -> dict[str, list[types.Content]]:
        """Return the contents for each agent, built from all events."""
        return {name: contents_of(self.session.events, name, branch) for name in AGENTS}


TWO_CALLS_ANSWERED_APART = [
    ("call", "agent", 2),
    ("answer and talk", "user", 0),
    ("answer and talk", "user", 1),
]


@settings(max_examples=300)
@given(st.lists(INVOCATION, min_size=1, max_size=5), st.sampled_from([None, "p.a"]))
@example([TWO_CALLS_ANSWERED_APART, []], None)
def test_cached_contents_equal_uncached_contents(
    invocations: list[list[tuple[str, str, Any]]], branch: str | None
) -> None:
    history = History()
    for steps in invocations:
        history.begin()
        assert history.cached(branch) == history.uncached(branch)
        for step in steps:
            history.take(*step)
            assert history.cached(branch) == history.uncached(branch)


@settings(max_examples=50)
@given(st.lists(INVOCATION, min_size=1, max_size=3), st.lists(INVOCATION, min_size=1, max_size=3))
def test_a_recreated_session_does_not_reuse_the_cache_of_the_deleted_one(
    old: list[list[tuple[str, str, Any]]], new: list[list[tuple[str, str, Any]]]
) -> None:
    first, second = History(), History()
    second.session.id = first.session.id
    for history, invocations in ((first, old), (second, new)):
        for steps in invocations:
            history.begin()
            assert history.cached(None) == history.uncached(None)
            for step in steps:
                history.take(*step)
                assert history.cached(None) == history.uncached(None)


def test_a_call_id_that_is_used_again_keeps_the_cache() -> None:
    """Models number their calls in each response anew, and a turn costs no more for it."""
    history = History()
    sent = []
    for _ in range(3):
        history.begin()
        history.add(called("c", invocation_id=f"e-{history.invocation}"))
        history.add(answered(fields={"invocation_id": f"e-{history.invocation}"}, c=history.invocation))
        sent.append(history.contents(AGENTS["agent"]))
        history.take("say", "agent", None)
    assert all(new is old for new, old in zip(sent[2], sent[1][:3], strict=False))


def test_a_later_turn_changes_no_request_that_was_built_before() -> None:
    """A request may still be on its way to the model when the cache is extended."""
    history = History()
    for _ in range(3):
        history.begin()
        history.take("say", "agent", None)
    history.begin()
    sent = history.contents(AGENTS["agent"])
    known = list(sent)
    history.take("say", "agent", None)
    history.begin()
    assert history.contents(AGENTS["agent"])[: len(known)] == known
    assert sent == known


def test_building_a_long_history_lets_other_tasks_run() -> None:
    history = History()
    for number in range(20):
        history.begin()
        history.add(called(f"c{number}"))
        results: dict[str, Any] = {f"c{number}": number}
        history.add(answered(**results))
        history.take("say", "agent", None)
    history.begin()
    contents = history.contents(AGENTS["agent"])
    assert len(contents) == 81
    # Every 2 events when they become what the agent sees, and every 2 of those when their contents are made.
    assert history.pauses == 39 + 39
    history.contents(AGENTS["agent"])
    assert history.pauses == 0
