"""ParallelAgent: each sub-agent has its own branch and pauses until its event is committed (contract A5, Q9, L3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from runtime.agents import BaseAgent, InvocationContext, LoopAgent, ParallelAgent, SequentialAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.events import Event, EventActions
from runtime.events.quotation import HEADING, quote
from runtime.run_config import RunConfig, StreamingMode
from tests.fakes import ScriptedModel, call, text_content
from tests.unit.runtime.conversation import Conversation, outline, requests_to, response_of


class Speaker(BaseAgent):
    """Yields its texts and records after each whether the event is committed."""

    texts: list[str]
    committed: list[bool] = []
    closed: list[str] = []

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        try:
            for text in self.texts:
                delta = {f"{self.name}_said": text}
                event = Event(
                    author=self.name,
                    branch=ctx.branch,
                    content=text_content(text),
                    actions=EventActions(state_delta=delta),
                )
                yield event
                is_stored = any(stored.id == event.id for stored in ctx.session.events)
                self.committed.append(is_stored and ctx.session.state[f"{self.name}_said"] == text)
        finally:
            self.closed.append(self.name)


class Waiting(BaseAgent):
    """Waits forever and records that it was cancelled."""

    has_begun: Any
    stopped: list[str] = []

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        try:
            self.has_begun.set()
            await asyncio.Event().wait()
            yield Event(author=self.name)
        finally:
            self.stopped.append(self.name)


class Failing(BaseAgent):
    """Fails when its gate is opened."""

    when: Any

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        yield Event(author=self.name, branch=ctx.branch, content=text_content("I shall fail"))
        await self.when.wait()
        raise LookupError("lost")


def pair(**settings: Any) -> list[LlmAgent]:
    return [
        LlmAgent(name=name, model=ScriptedModel(turns=[f"{name} says"]), **settings) for name in ("a", "b")
    ]


async def test_each_child_continues_when_its_own_event_is_committed() -> None:
    """Contract A5, L3."""
    speakers = [Speaker(name=name, texts=["one", "two", "three"]) for name in ("a", "b", "c")]
    conversation = Conversation(ParallelAgent(name="par", sub_agents=list(speakers)))
    events = await conversation.say("go")
    assert [speaker.committed for speaker in speakers] == [[True] * 3] * 3
    for name in "abc":
        assert [event.text() for event in events if event.author == name] == ["one", "two", "three"]
    assert (await conversation.session()).events[1:] == events


async def test_a_child_does_not_wait_for_a_slow_one() -> None:
    """Events are merged as they come (contract A5)."""
    gate = asyncio.Event()
    slow = LlmAgent(name="slow", model=ScriptedModel(turns=[gate]))
    quick = LlmAgent(
        name="quick",
        model=ScriptedModel(turns=["ready"]),
        after_agent_callback=lambda callback_context: gate.set(),
    )
    events = await Conversation(ParallelAgent(name="par", sub_agents=[slow, quick])).say("go")
    assert outline(events) == ["quick: ready", "slow: released"]


async def test_a_branch_is_shared_by_all_that_run_below_it() -> None:
    """Contract Q9."""
    helper = LlmAgent(name="helper", model=ScriptedModel(turns=["helped"]))
    boss = LlmAgent(
        name="boss",
        model=ScriptedModel(turns=[call("transfer_to_agent", agent_name="helper")]),
        sub_agents=[helper],
    )
    line = SequentialAgent(
        name="line", sub_agents=[boss, LlmAgent(name="z", model=ScriptedModel(turns=["z"]))]
    )
    nested = ParallelAgent(name="inner", sub_agents=list(pair()))
    events = await Conversation(ParallelAgent(name="outer", sub_agents=[line, nested])).say("go")
    branches = {event.author: event.branch for event in events}
    assert branches == {
        "boss": "outer.line",
        "helper": "outer.line",
        "z": "outer.line",
        "a": "outer.inner.inner.a",
        "b": "outer.inner.inner.b",
    }


async def test_agents_on_one_branch_see_each_other_but_no_other_branch() -> None:
    """Contract A7, Q9."""
    first, second = pair()
    line = SequentialAgent(name="line", sub_agents=[first, second])
    other = LlmAgent(name="other", model=ScriptedModel(turns=["other says"]))
    after = LlmAgent(name="after", model=ScriptedModel(turns=["done"]))
    side_by_side = ParallelAgent(name="par", sub_agents=[line, other])
    await Conversation(SequentialAgent(name="all", sub_agents=[side_by_side, after])).say("go")

    def texts(agent: LlmAgent) -> list[str | None]:
        return [part.text for content in requests_to(agent)[0].contents for part in content.parts or []]

    assert texts(second) == ["go", HEADING, quote("[a] said", "a says")]
    assert texts(other) == ["go"]
    assert {quote(f"[{name}] said", f"{name} says") for name in ("a", "b", "other")} <= set(texts(after))


async def test_a_failing_child_cancels_the_others_and_committed_events_stay() -> None:
    """Contract A5, L5."""
    has_begun = asyncio.Event()
    waiting, speaker = Waiting(name="waiting", has_begun=has_begun), Speaker(name="a", texts=["one"])
    failing = Failing(name="failing", when=has_begun)
    conversation = Conversation(ParallelAgent(name="par", sub_agents=[speaker, waiting, failing]))
    with pytest.raises(LookupError, match="lost"):
        await conversation.say("go")
    assert waiting.stopped == ["waiting"]
    stored = outline((await conversation.session()).events)
    assert sorted(stored) == ["a: one", "failing: !LookupError", "failing: I shall fail", "user: go"]


class Escalating(BaseAgent):
    """Escalates when its gate is opened, and would go on."""

    when: Any

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        await self.when.wait()
        yield Event(author=self.name, content=text_content("Enough."), actions=EventActions(escalate=True))
        yield Event(author=self.name, content=text_content("never"))


async def test_an_escalation_stops_every_child() -> None:
    """Contract A5: the agent that escalates does not go on, and a later agent of the sequence runs."""
    has_begun = asyncio.Event()
    waiting = Waiting(name="waiting", has_begun=has_begun)
    par = ParallelAgent(name="par", sub_agents=[waiting, Escalating(name="escalating", when=has_begun)])
    after = Speaker(name="after", texts=["And now?"])
    events = await Conversation(SequentialAgent(name="top", sub_agents=[par, after])).say("go")
    assert outline(events) == ["escalating: Enough.", "after: And now?"]
    assert waiting.stopped == ["waiting"]


async def test_an_escalation_answers_the_calls_that_it_interrupts() -> None:
    """Contract A5, R2: no call stays open, and the next request holds its response."""
    calling = asyncio.Event()

    async def wait() -> None:
        """Wait for ever."""
        calling.set()
        await asyncio.Event().wait()

    worker = LlmAgent(name="worker", model=ScriptedModel(turns=[call("wait", "c1")]), tools=[wait])
    par = ParallelAgent(name="par", sub_agents=[worker, Escalating(name="escalating", when=calling)])
    events = await Conversation(par).say("go")
    assert outline(events) == ["worker: wait()", "escalating: Enough.", "worker: =wait"]
    assert response_of(events[-1])["status"] == "interrupted"
    assert events[-1].branch == "par.worker"


async def test_an_escalation_ends_only_the_loop_within_a_branch() -> None:
    opened = asyncio.Event()
    opened.set()
    loop = LoopAgent(name="loop", sub_agents=[Escalating(name="escalating", when=opened)])
    par = ParallelAgent(name="par", sub_agents=[loop, Speaker(name="a", texts=["one", "two"])])
    texts = [event.text() for event in await Conversation(par).say("go")]
    assert sorted(texts) == ["Enough.", "never", "one", "two"]


async def test_a_resumed_parallel_agent_that_escalated_starts_no_child_again() -> None:
    """Contract R1: the process has stopped between the escalation and the end of the agent."""
    opened = asyncio.Event()
    opened.set()
    par = ParallelAgent(
        name="par",
        sub_agents=[Speaker(name="a", texts=["one"]), Escalating(name="escalating", when=opened)],
    )
    conversation = Conversation(par)
    session = await conversation.session()
    run = conversation.runner.run_async(
        user_id="ada", session_id=session.id, new_message=text_content("go", role="user")
    )
    async for event in run:
        if event.actions.escalate:
            break
    await run.aclose()
    resumed = conversation.runner.run_async(
        user_id="ada", session_id=session.id, invocation_id=event.invocation_id
    )
    assert [event async for event in resumed] == []


async def test_closing_the_stream_cancels_every_child() -> None:
    """Contract L7."""
    waiting = Waiting(name="waiting", has_begun=asyncio.Event())
    speaker = Speaker(name="a", texts=["one", "two"])
    conversation = Conversation(ParallelAgent(name="par", sub_agents=[waiting, speaker]))
    run = conversation.runner.run_async(
        user_id="ada",
        session_id=(await conversation.session()).id,
        new_message=text_content("go", role="user"),
    )
    assert (await anext(run)).text() == "one"
    await run.aclose()
    assert (waiting.stopped, speaker.closed, speaker.committed) == (["waiting"], ["a"], [])
    assert outline((await conversation.session()).events) == ["user: go", "a: one"]


async def test_partial_events_of_several_children_are_forwarded_and_not_stored() -> None:
    """Contract L4."""
    agents = [LlmAgent(name=name, model=ScriptedModel(turns=["one two"])) for name in ("a", "b")]
    conversation = Conversation(ParallelAgent(name="par", sub_agents=list(agents)))
    events = await conversation.say("go", RunConfig(streaming_mode=StreamingMode.SSE))
    for name in ("a", "b"):
        assert [(e.text(), e.partial) for e in events if e.author == name] == [
            ("one ", True),
            ("two", True),
            ("one two", None),
        ]
    assert sorted(outline((await conversation.session()).events)) == ["a: one two", "b: one two", "user: go"]


async def test_without_children_there_are_no_events() -> None:
    assert await Conversation(ParallelAgent(name="par")).say("go") == []
