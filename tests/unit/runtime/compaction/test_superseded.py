"""Sessions loaded without superseded events behave as if all events were loaded (contract R3, R4)."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtime.agents import LlmAgent
from runtime.agents.routing import route_message
from runtime.apps import App, EventsCompactionConfig
from runtime.apps.base_events_summarizer import BaseEventsSummarizer
from runtime.apps.compaction import compact
from runtime.engine.contents import contents_of
from runtime.events import Event, EventActions, EventCompaction
from runtime.events.calls import call_ids
from runtime.events.rewound import as_rewind, drop_rewound
from runtime.events.summaries import SUMMARY_NOTE_KEY, apply_summaries, without_superseded
from runtime.sessions import GetSessionConfig, InMemorySessionService
from tests.fakes import pending_calls, text_content
from tests.unit.runtime.engine.histories import answered, called, said, story, undo_of, user

KEY: dict[str, Any] = {"app_name": "shop", "user_id": "ada", "session_id": "s"}
STEP = st.one_of(
    st.tuples(st.just("begin"), st.just(0)),
    st.tuples(st.just("say"), st.sampled_from(["root", "helper", "stranger"])),
    st.tuples(st.just("call"), st.sampled_from(["waits", "done", "dead"])),
    st.tuples(st.just("answer"), st.integers(0, 3)),
    st.tuples(st.just("state"), st.just(0)),
    st.tuples(st.just("rewind"), st.integers(0, 3)),
    st.tuples(st.just("undo"), st.integers(0, 3)),
    st.tuples(st.just("compact"), st.integers(0, 2)),
)


class ListingSummarizer(BaseEventsSummarizer):
    """Summarizer that lists the texts it was given."""

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        text = " ".join(text for event in events if (text := event.text()))
        compaction = EventCompaction(
            start_timestamp=0.0, end_timestamp=0.0, compacted_content=text_content(f"<{text}>")
        )
        return Event(author="user", actions=EventActions(compaction=compaction))


class Log:
    """A session to which random events are added."""

    def __init__(self, overlap: int) -> None:
        config = EventsCompactionConfig(
            compaction_interval=1, overlap_size=overlap, summarizer=ListingSummarizer()
        )
        root = LlmAgent(name="root", sub_agents=[LlmAgent(name="helper")])
        self.app = App(name="shop", root_agent=root, events_compaction_config=config)
        self.service = InMemorySessionService()
        self.clock = 0
        self.invocation = 0
        self.calls: list[str] = []

    async def add(self, event: Event) -> None:
        event.invocation_id = event.invocation_id or f"e-{self.invocation}"
        self.clock += 1
        event.timestamp = float(self.clock)
        session = await self.service.get_session(**KEY)
        assert session is not None
        await self.service.append_event(session, event)

    async def take(self, kind: str, what: Any) -> None:
        match kind:
            case "begin":
                self.invocation += 1
                await self.add(user(f"m{self.invocation}"))
            case "say":
                await self.add(said(f"w{self.clock}", author=what))
            case "call":
                await self.call(f"c{self.clock}", what)
            case "answer" if pending := await self.pending():
                self.invocation += 1
                await self.add(answered("user", **{pending[-1 - min(what, len(pending) - 1)]: "yes"}))
            case "state":
                await self.add(Event(author="admin", invocation_id="outside"))
            case "rewind":
                back_to = f"e-{max(1, self.invocation - what)}"
                actions = EventActions(rewind_before_invocation_id=back_to)
                await self.add(Event(author="user", invocation_id="rewind", actions=actions))
            case "undo":
                rewinds = [event for event in await self.loaded() if as_rewind(event, 0)]
                if rewinds:
                    await self.add(undo_of(rewinds[-1 - min(what, len(rewinds) - 1)]))
            case "compact":
                session = await self.service.get_session(**KEY)
                assert session is not None
                await compact(self.app, self.service, session, f"e-{max(1, self.invocation - what)}")

    async def call(self, call_id: str, end: str) -> None:
        """Add a call that is answered from outside, at once, or never."""
        event = called(call_id, author="root")
        if end == "waits":
            self.calls.append(call_id)
            event.long_running_tool_ids = {call_id}
        await self.add(event)
        if end == "done":
            await self.add(answered("root", **{call_id: "done"}))

    async def pending(self) -> list[str]:
        """Return the ids of pending calls and of rewound calls."""
        kept = drop_rewound(await self.loaded())
        pending, made = pending_calls(kept), {call_id for event in kept for call_id in call_ids(event)}
        return [call_id for call_id in self.calls if call_id in pending or call_id not in made]

    async def loaded(self, **config: Any) -> list[Event]:
        session = await self.service.get_session(**KEY, config=GetSessionConfig(**config))
        assert session is not None
        return session.events


def responses_without_calls(kept: list[Event]) -> list[str | None]:
    """Return the ids of responses whose calls are replaced by a summary but exist in the log."""
    shown = apply_summaries(kept)
    made = {call_id for event in shown for call_id in call_ids(event)}
    known = {call_id for event in kept for call_id in call_ids(event)}
    responses = [response for event in shown for response in event.get_function_responses()]
    return [response.id for response in responses if response.id not in made and response.id in known]


@settings(max_examples=100)
@given(st.lists(STEP, max_size=15), st.integers(0, 2))
@example(steps=[("call", "waits"), ("say", "helper"), ("answer", 0), ("compact", 0), ("begin", 0)], overlap=0)
def test_without_superseded_events_contents_agent_and_pending_calls_are_the_same(
    steps: list[tuple[str, Any]], overlap: int
) -> None:
    async def run() -> None:
        log = Log(overlap)
        await log.service.create_session(**KEY)
        for step in [("begin", 0), *steps]:
            await log.take(*step)
            whole, short = await log.loaded(), await log.loaded(without_superseded=True)
            kept = drop_rewound(whole)
            for name in ("root", "helper"):
                assert story(contents_of(short, name, None)) == story(contents_of(whole, name, None))
            if (
                short and short[-1].author == "user" and short[-1].content
            ):  # a message; a runner routes nothing else
                assert route_message(log.app.root_agent, short) is route_message(log.app.root_agent, kept)
            assert pending_calls(short) == pending_calls(kept)
            assert without_superseded(short) == short
            assert responses_without_calls(kept) == []

    asyncio.run(run())


def test_the_order_of_events_decides_not_their_timestamps() -> None:
    """A host with a slow clock stored event 3 before the summary, which does not include the event."""
    events = [user("1", timestamp=10.0), user("2", timestamp=20.0), user("3", timestamp=15.0)]
    compaction = EventCompaction(
        start_timestamp=10.0, end_timestamp=20.0, compacted_content=text_content("1 and 2")
    )
    summary = Event(
        author="user",
        custom_metadata={SUMMARY_NOTE_KEY: {"last_agent": "agent", "overlap_from": 10.0}},
        actions=EventActions(compaction=compaction),
    )
    log = [*events, summary]
    assert story(contents_of(log, "agent", None)) == ["model: 1 and 2", "user: 3"]
    assert without_superseded(log) == log[1:]
    assert story(contents_of(log[1:], "agent", None)) == ["model: 1 and 2", "user: 3"]


def test_events_before_a_partial_summary_are_loaded() -> None:
    """Such a summary was written by another program."""
    compaction = EventCompaction(
        start_timestamp=2.0, end_timestamp=3.0, compacted_content=text_content("2 and 3")
    )
    summary = Event(author="user", timestamp=4.0, actions=EventActions(compaction=compaction))
    log = [*(user(str(number), timestamp=float(number)) for number in (1, 2, 3)), summary]
    assert without_superseded(log) == log
    assert story(contents_of(log, "agent", None)) == ["user: 1", "model: 2 and 3"]
