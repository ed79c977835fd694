"""Contract A5, E8, L10, R1, R4: events of an agent's own code that leave out whose they are and of which invocation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from runtime.agents import BaseAgent, InvocationContext, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from runtime.apps import App, EventsCompactionConfig, ResumabilityConfig
from runtime.apps.base_events_summarizer import BaseEventsSummarizer
from runtime.events import Event, EventActions
from runtime.run_config import RunConfig
from runtime.runners import InMemoryRunner
from tests.fakes import ScriptedModel, say, text_content
from tests.unit.runtime.conversation import Conversation, outline

ADA: dict[str, Any] = {"user_id": "ada", "session_id": "s"}


class Says(BaseAgent):
    """Says its name, the way ADK's pages show it."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        yield Event(author=self.name, content=text_content(self.name))


class EscalatesOnce(BaseAgent):
    asked: Any  # the test's list: pydantic would copy one that is declared as such

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        self.asked.append(self.name)
        yield Event(author=self.name, actions=EventActions(escalate=len(self.asked) == 1))


class Told(BaseEventsSummarizer):
    """Keeps what it was told to sum up."""

    def __init__(self) -> None:
        self.stories: list[list[str]] = []

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        self.stories.append([event.text() for event in events])
        return None


async def opened(app: App) -> InMemoryRunner:
    runner = InMemoryRunner(app=app)
    await runner.session_service.create_session(app_name=app.name, **ADA)
    return runner


async def test_they_are_of_the_invocation_the_branch_and_the_agent_that_they_come_from() -> None:
    """Contract E8, A5, L10."""

    class Nameless(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            yield Event(author="", content=text_content("?"), partial=True)
            yield Event(author="", content=text_content("?"), custom_metadata={"own": 1})

    below = SequentialAgent(name="steps", sub_agents=[Nameless(name="nameless")])
    conversation = Conversation(ParallelAgent(name="both", sub_agents=[below, Says(name="says")]))
    events = await conversation.say("go", RunConfig(custom_metadata={"run": 7}))
    assert {(event.author, event.branch, event.partial) for event in events} == {
        ("nameless", "both.steps", True),
        ("nameless", "both.steps", None),
        ("says", "both.says", None),
    }
    assert len({event.invocation_id for event in events}) == 1
    assert all(event.invocation_id.startswith("e-") for event in events)
    stored = (await conversation.session()).events
    assert {(event.invocation_id, event.branch) for event in stored[1:]} == {
        (event.invocation_id, event.branch) for event in events
    }
    assert [event.custom_metadata for event in stored if event.author == "nameless"] == [{"run": 7, "own": 1}]
    assert [event.custom_metadata for event in stored if event.author == "says"] == [{"run": 7}]


async def test_what_they_name_themselves_stays() -> None:
    class Relay(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            yield Event(author="far", invocation_id="e-far", branch="there", content=text_content("hello"))

    conversation = Conversation(ParallelAgent(name="both", sub_agents=[Relay(name="relay")]))
    [event] = await conversation.say("go")
    assert (event.author, event.invocation_id, event.branch) == ("far", "e-far", "there")


async def test_the_siblings_of_a_parallel_agent_do_not_see_them() -> None:
    """Contract A5."""
    committed = asyncio.Event()

    class First(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            yield Event(author=self.name, content=text_content("secret"))
            committed.set()

    async def wait(callback_context: Any) -> None:
        await committed.wait()

    model = ScriptedModel(turns=["done"])
    second = LlmAgent(name="second", model=model, before_agent_callback=wait)
    await Conversation(ParallelAgent(name="both", sub_agents=[First(name="first"), second])).say("go")
    assert model.requests[0].contents == [say("go")]


async def test_an_escalation_holds_when_the_invocation_was_cut_off_right_after_it() -> None:
    """Contract R1, Q9: it is found among the invocation's events."""
    loop = LoopAgent(
        name="loop", sub_agents=[EscalatesOnce(name="check", asked=[]), Says(name="never")], max_iterations=3
    )
    root = SequentialAgent(name="steps", sub_agents=[loop, Says(name="last")])
    runner = await opened(
        App(name="shop", root_agent=root, resumability_config=ResumabilityConfig(is_resumable=True))
    )
    async with aclosing(runner.run_async(**ADA, new_message=say("go"), invocation_id="e-1")) as events:
        async for event in events:
            if event.actions.escalate:
                break
    rest = [event async for event in runner.run_async(**ADA, invocation_id="e-1")]
    assert [line for line in outline(rest) if not line.endswith(": ")] == ["last: last"]


async def test_a_summary_stands_for_them_too() -> None:
    """Contract R4: with the invocation that they are of."""
    told = Told()
    config = EventsCompactionConfig(compaction_interval=2, overlap_size=0, summarizer=told)
    runner = await opened(App(name="shop", root_agent=Says(name="clerk"), events_compaction_config=config))
    for message in ("one", "two"):
        async for _ in runner.run_async(**ADA, new_message=say(message)):
            pass
    assert told.stories == [["one", "clerk", "two", "clerk"]]
