"""Contract A5, E1, E8, L10, R1, R4: events of custom agents without author, branch or invocation id."""

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


class SaysName(BaseAgent):
    """Yields its name as text, in the way that the ADK pages show."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        yield Event(author=self.name, content=text_content(self.name))


class EscalatesOnce(BaseAgent):
    runs: Any  # the test's list; pydantic would copy a field declared as a list

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        self.runs.append(self.name)
        yield Event(author=self.name, actions=EventActions(escalate=len(self.runs) == 1))


class RecordingSummarizer(BaseEventsSummarizer):
    """Records the texts of the events that it is asked to summarize."""

    def __init__(self) -> None:
        self.stories: list[list[str]] = []

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        self.stories.append([event.text() for event in events])
        return None


async def runner_with_session(app: App) -> InMemoryRunner:
    runner = InMemoryRunner(app=app)
    await runner.session_service.create_session(app_name=app.name, **ADA)
    return runner


async def test_events_get_the_invocation_the_branch_and_the_author_of_their_agent() -> None:
    """Contract E8, A5, L10."""

    class Nameless(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            yield Event(author="", content=text_content("?"), partial=True)
            yield Event(author="", content=text_content("?"), custom_metadata={"own": 1})

    below = SequentialAgent(name="steps", sub_agents=[Nameless(name="nameless")])
    conversation = Conversation(ParallelAgent(name="both", sub_agents=[below, SaysName(name="says")]))
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


async def test_fields_set_by_the_agent_are_kept() -> None:
    class Relay(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            yield Event(author="far", invocation_id="e-far", branch="there", content=text_content("hello"))

    conversation = Conversation(ParallelAgent(name="both", sub_agents=[Relay(name="relay")]))
    [event] = await conversation.say("go")
    assert (event.author, event.invocation_id, event.branch) == ("far", "e-far", "there")


async def test_siblings_in_a_parallel_agent_do_not_see_the_events() -> None:
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


async def test_an_escalation_is_kept_when_the_invocation_is_resumed_right_after_it() -> None:
    """Contract R1, Q9: the escalation is found among the invocation's events."""
    loop = LoopAgent(
        name="loop",
        sub_agents=[EscalatesOnce(name="check", runs=[]), SaysName(name="never")],
        max_iterations=3,
    )
    root = SequentialAgent(name="steps", sub_agents=[loop, SaysName(name="last")])
    runner = await runner_with_session(
        App(name="shop", root_agent=root, resumability_config=ResumabilityConfig(is_resumable=True))
    )
    async with aclosing(runner.run_async(**ADA, new_message=say("go"), invocation_id="e-1")) as events:
        async for event in events:
            if event.actions.escalate:
                break
    rest = [event async for event in runner.run_async(**ADA, invocation_id="e-1")]
    assert [line for line in outline(rest) if not line.endswith(": ")] == ["last: last"]


async def test_the_events_are_summarized_with_their_invocation() -> None:
    """Contract R4."""
    summarizer = RecordingSummarizer()
    config = EventsCompactionConfig(compaction_interval=2, overlap_size=0, summarizer=summarizer)
    runner = await runner_with_session(
        App(name="shop", root_agent=SaysName(name="clerk"), events_compaction_config=config)
    )
    for message in ("one", "two"):
        async for _ in runner.run_async(**ADA, new_message=say(message)):
            pass
    assert summarizer.stories == [["one", "clerk", "two", "clerk"]]


async def test_an_event_may_be_made_of_a_message_and_a_state() -> None:
    """Contract E1, E8."""

    class Counter(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            fields: dict[str, Any] = {"message": "one", "state": {"count": 1}}
            yield Event(**fields)

    conversation = Conversation(Counter(name="counter"))
    [event] = await conversation.say("go")
    assert (event.author, event.content) == ("counter", text_content("one"))
    assert (await conversation.session()).state == {"count": 1}
