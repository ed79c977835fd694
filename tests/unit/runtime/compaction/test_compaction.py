"""Compaction: old events are summarized when due, and the model gets the summary instead (contract R4)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent, SequentialAgent
from runtime.apps import App, EventsCompactionConfig
from runtime.apps.base_events_summarizer import BaseEventsSummarizer
from runtime.apps.llm_event_summarizer import LlmEventSummarizer
from runtime.errors import ConfigurationError, ModelError
from runtime.events import Event, EventActions, EventCompaction
from runtime.events.allowances import ToolOfAgent, withdrawal_of
from runtime.models import LlmResponse
from runtime.runners import InMemoryRunner, Runner
from runtime.sessions import InMemorySessionService, Session
from runtime.tools import AgentTool, FunctionTool, LongRunningFunctionTool
from tests.fakes import ScriptedModel, call, say, text_content
from tests.unit.runtime.engine.histories import story

ADA: dict[str, Any] = {"user_id": "ada", "session_id": "s"}


class RecordingSummarizer(BaseEventsSummarizer):
    """Summarizer that joins authors and texts, and records its input."""

    def __init__(self) -> None:
        self.inputs: list[list[str]] = []
        self.gate: asyncio.Event | None = None

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        lines = [text for event in events if (text := event.text())]
        self.inputs.append(lines)
        if self.gate:
            await self.gate.wait()
        compaction = EventCompaction(
            start_timestamp=0, end_timestamp=0, compacted_content=text_content(f"summary {len(self.inputs)}")
        )
        return Event(author="user", actions=EventActions(compaction=compaction))


class Chat:
    """Session `s` of user Ada; the agent answers a message by repeating it in capitals."""

    def __init__(self, *tools: Any, compacts: bool = True, **config: Any) -> None:
        self.summarizer = RecordingSummarizer()
        self.model = ScriptedModel()
        config = {"compaction_interval": 2, "overlap_size": 0, "summarizer": self.summarizer, **config}
        self.app = App(
            name="shop",
            root_agent=LlmAgent(name="agent", model=self.model, tools=list(tools)),
            events_compaction_config=EventsCompactionConfig(**config),
        )
        self.service = InMemorySessionService()
        self.runner = Runner(app=self.app, session_service=self.service, compacts=compacts)

    async def say(self, message: str | types.Content, *turns: Any) -> list[Event]:
        if not await self.service.get_session(app_name="shop", **ADA):
            await self.service.create_session(app_name="shop", **ADA)
        self.model.turns = list(turns) or [message.upper() if isinstance(message, str) else "THANKS"]
        content = say(message) if isinstance(message, str) else message
        return [event async for event in self.runner.run_async(**ADA, new_message=content)]

    async def session(self) -> Session:
        session = await self.service.get_session(app_name="shop", **ADA)
        assert session is not None
        return session

    async def summaries(self) -> list[Event]:
        return [event for event in (await self.session()).events if event.actions.compaction]

    def latest_contents(self) -> list[str]:
        """Return the contents of the latest request."""
        return story(list(self.model.requests[-1].contents))


async def test_the_model_gets_the_summary_instead_of_the_summarized_events() -> None:
    chat = Chat()
    for message in ("one", "two", "three"):
        await chat.say(message)
    assert chat.latest_contents() == ["model: summary 1", "user: three"]
    await chat.say("four")
    assert chat.latest_contents() == ["model: summary 1", "user: three", "model: THREE", "user: four"]
    await chat.say("five")
    assert chat.latest_contents() == ["model: summary 2", "user: five"]
    assert chat.summarizer.inputs == [
        ["one", "ONE", "two", "TWO"],
        ["summary 1", "three", "THREE", "four", "FOUR"],
    ]


async def test_the_summary_is_one_event_that_records_its_range() -> None:
    chat = Chat()
    for message in ("one", "two"):
        await chat.say(message)
    events = (await chat.session()).events
    [summary] = await chat.summaries()
    compaction = summary.actions.compaction
    assert compaction is not None and events[-1] == summary
    assert (summary.author, summary.content) == ("user", None)
    assert (compaction.start_timestamp, compaction.end_timestamp) == (
        events[0].timestamp,
        events[3].timestamp,
    )
    assert [event.text() for event in events[:4]] == ["one", "ONE", "two", "TWO"]


async def test_the_summarizer_is_shown_the_overlap_again() -> None:
    chat = Chat(overlap_size=1)
    for message in ("one", "two", "three", "four"):
        await chat.say(message)
    assert chat.summarizer.inputs[1] == ["summary 1", "two", "TWO", "three", "THREE", "four", "FOUR"]


async def test_a_summary_is_not_yielded_and_comes_after_the_last_event() -> None:
    chat = Chat(compaction_interval=1)
    chat.summarizer.gate = asyncio.Event()
    await chat.service.create_session(app_name="shop", **ADA)
    chat.model.turns = ["ONE"]
    stream = chat.runner.run_async(**ADA, new_message=say("one"))
    assert (await anext(stream)).text() == "ONE"
    chat.summarizer.gate.set()
    assert [event async for event in stream] == []
    assert len(await chat.summaries()) == 1


async def test_a_runner_that_does_not_compact_leaves_it_to_compact_async() -> None:
    chat = Chat(compacts=False)
    await chat.say("one")
    assert await chat.runner.compact_async(**ADA) is None
    invocation = (await chat.say("two"))[-1].invocation_id
    assert await chat.summaries() == []
    assert await chat.runner.compact_async(**ADA) is None  # the newest may still run
    event = await chat.runner.compact_async(**ADA, invocation_id=invocation)
    assert event is not None and await chat.summaries() == [event]
    assert await chat.runner.compact_async(**ADA, invocation_id=invocation) is None


async def test_of_two_concurrent_compactions_one_is_stored() -> None:
    chat = Chat(compacts=False)
    await chat.say("one")
    invocation = (await chat.say("two"))[-1].invocation_id
    chat.summarizer.gate = asyncio.Event()
    both = [asyncio.create_task(chat.runner.compact_async(**ADA, invocation_id=invocation)) for _ in "ab"]
    while len(chat.summarizer.inputs) < 2:
        await asyncio.sleep(0)
    chat.summarizer.gate.set()
    assert sorted(event is None for event in await asyncio.gather(*both)) == [False, True]
    assert len(await chat.summaries()) == 1


async def test_a_failed_compaction_is_repeated_next_time(caplog: pytest.LogCaptureFixture) -> None:
    chat = Chat(summarizer=None)
    await chat.say("one")
    error = LlmResponse(error_code="RESOURCE_EXHAUSTED", error_message="Too much.")
    assert (await chat.say("two", "TWO", error))[-1].text() == "TWO"
    assert await chat.summaries() == []
    assert "was not compacted" in caplog.text
    await chat.say("three", "THREE", "all of it")
    [summary] = await chat.summaries()
    compaction = summary.actions.compaction
    assert compaction and compaction.compacted_content == text_content("all of it")


async def test_the_agents_model_summarizes_calls_and_texts_without_thoughts() -> None:
    def look(what: str) -> str:
        """Look."""
        return "nothing there"

    chat = Chat(look, summarizer=None, compaction_interval=1)
    thought = types.Part(text="I wonder", thought=True)
    await chat.say("find it", [thought, call("look", what="it")], "not found", "short")
    [content] = chat.model.requests[-1].contents
    prompt = (content.parts or [])[0].text or ""
    assert (
        'user: find it\nagent called look: {"what": "it"}\nlook returned: {"result": "nothing there"}\n'
        in prompt
    )
    assert "agent: not found" in prompt
    assert "I wonder" not in prompt


async def test_a_custom_template_needs_the_placeholder() -> None:
    model = ScriptedModel(turns=["short"])
    summarizer = LlmEventSummarizer(
        model, prompt_template="Sum up {braces} in verse:\n{conversation_history}"
    )
    events = [Event(author="user", content=say("one"))]
    assert await summarizer.maybe_summarize_events(events=events)
    assert story(model.requests[0].contents) == ["user: Sum up {braces} in verse:\nuser: one"]
    with pytest.raises(ConfigurationError, match="conversation_history"):
        LlmEventSummarizer(model, prompt_template="Sum up.")
    with pytest.raises(ModelError, match="BUSY: at 9 of 9"):
        model.turns = [LlmResponse(error_code="BUSY", error_detail="at 9 of 9")]
        await summarizer.maybe_summarize_events(events=events)
    assert await summarizer.maybe_summarize_events(events=[Event(author="user")]) is None


def order(what: str) -> None:
    """Order something; the result takes days."""


def answer(name: str, call_id: str, **response: Any) -> types.Content:
    part = types.FunctionResponse(id=call_id, name=name, response=response)
    return types.Content(role="user", parts=[types.Part(function_response=part)])


async def test_a_pending_call_and_all_later_events_are_not_summarized() -> None:
    """It is summarized after its response came (contract T5)."""
    chat = Chat(LongRunningFunctionTool(order))
    await chat.say("one")
    await chat.say("two", call("order", "c1", what="tea"))
    await chat.say("three")
    assert await chat.summaries() == []
    await chat.say("four")
    assert chat.latest_contents()[0] == "user: one"
    await chat.say(answer("order", "c1", status="done"))
    assert len(await chat.summaries()) == 1
    assert chat.summarizer.inputs == [["one", "ONE", "two", "three", "THREE", "four", "FOUR", "THANKS"]]


async def test_events_before_a_pending_call_are_summarized() -> None:
    chat = Chat(LongRunningFunctionTool(order))
    await chat.say("one")
    await chat.say("two", call("order", "c1", what="tea"))
    await chat.say("three")
    chat.app.events_compaction_config = EventsCompactionConfig(
        compaction_interval=1, overlap_size=0, summarizer=chat.summarizer
    )
    await chat.say("four")
    assert chat.summarizer.inputs == [["one", "ONE"]]
    await chat.say(answer("order", "c1", status="done"))
    assert chat.latest_contents() == [
        "model: summary 1",
        "user: two",
        "model: order#c1",
        "user: order#c1=None",
    ]


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


async def test_an_open_confirmation_request_is_not_summarized() -> None:
    """The confirmed call runs with its recorded arguments, even after many invocations (contract T7)."""
    chat = Chat(FunctionTool(pay, require_confirmation=True), compaction_interval=1)
    events = await chat.say("pay!", call("pay", "c1", amount=3))
    [question] = events[-1].get_function_calls()
    await chat.say("wait")
    assert await chat.summaries() == []
    events = await chat.say(answer(question.name or "", question.id or "", confirmed=True), "PAID")
    assert events[0].get_function_responses()[0].response == {"result": "paid 3"}
    assert len(await chat.summaries()) == 1


async def test_an_ignored_question_is_summarized_and_its_late_answer_counts() -> None:
    """Contract R4, T7: the confirmed call runs with its recorded arguments, and the model gets its result."""
    chat = Chat(FunctionTool(pay, require_confirmation=True))
    events = await chat.say("pay!", call("pay", "c1", amount=3))
    [question] = events[-1].get_function_calls()
    sizes = []
    for number in range(40):
        await chat.say(f"message {number}")
        sizes.append(len(chat.latest_contents()))
    assert max(sizes) <= 16
    assert len(await chat.summaries()) >= 15
    events = await chat.say(answer(question.name or "", question.id or "", confirmed=True), "PAID", "MORE")
    assert events[0].get_function_responses()[0].response == {"result": "paid 3"}
    contents = chat.latest_contents()
    assert "model: pay#c1" in contents and contents[-1].startswith("user: pay#c1=")
    assert len(contents) <= 16
    await chat.say("and now?")
    assert len(chat.latest_contents()) <= 16


async def test_a_late_answer_is_read_again_when_the_invocation_is_resumed() -> None:
    """Contract R1: the process has stopped after it committed the answer."""
    chat = Chat(FunctionTool(pay, require_confirmation=True), LongRunningFunctionTool(order))
    events = await chat.say("pay!", call("pay", "c1", amount=3))
    [question] = events[-1].get_function_calls()
    for number in range(10):
        await chat.say(f"message {number}")
    assert await chat.summaries()
    message = answer(question.name or "", question.id or "", confirmed=True)
    session = await chat.session()
    await chat.service.append_event(session, Event(author="user", invocation_id="late", content=message))
    chat.model.turns = ["PAID"]
    events = [event async for event in chat.runner.run_async(**ADA, invocation_id="late")]
    assert events[0].get_function_responses()[0].response == {"result": "paid 3"}
    assert events[-1].text() == "PAID"


async def test_a_long_request_triggers_compaction_and_the_latest_events_stay() -> None:
    chat = Chat(compaction_interval=100, token_threshold=1000, event_retention_size=3)
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=1000)
    await chat.say("one")
    await chat.say("two")
    assert await chat.summaries() == []
    await chat.say("three", LlmResponse(content=text_content("THREE"), usage_metadata=usage))
    assert chat.summarizer.inputs == [["one", "ONE"]]  # three events stay, and no invocation is divided
    await chat.say("four")
    assert chat.latest_contents()[:2] == ["model: summary 1", "user: two"]
    assert len(await chat.summaries()) == 1


async def test_the_usage_of_an_agent_that_runs_as_a_tool_is_not_the_length_of_the_conversation() -> None:
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=1000)
    child = ScriptedModel(turns=[LlmResponse(content=text_content("Yes."), usage_metadata=usage)])
    tool = AgentTool(LlmAgent(name="expert", model=child))
    chat = Chat(tool, compaction_interval=100, token_threshold=1000, event_retention_size=1)
    await chat.say("one")
    await chat.say("two", call("expert", request="?"), "TWO")
    assert await chat.summaries() == []


async def test_rewinding_to_before_a_summary_restores_the_summarized_events() -> None:
    """Contract R3."""
    chat = Chat()
    first = (await chat.say("one"))[-1].invocation_id
    second = (await chat.say("two"))[-1].invocation_id
    await chat.runner.rewind_async(**ADA, rewind_before_invocation_id=second)
    await chat.say("three")
    assert chat.latest_contents() == ["user: one", "model: ONE", "user: three"]
    assert chat.summarizer.inputs[1] == ["one", "ONE", "three", "THREE"]
    await chat.runner.rewind_async(**ADA, rewind_before_invocation_id=first)
    await chat.say("four")
    assert chat.latest_contents() == ["user: four"]


async def test_rewinding_after_a_summary_keeps_it() -> None:
    """Contract R3."""
    chat = Chat()
    for message in ("one", "two"):
        await chat.say(message)
    third = (await chat.say("three"))[-1].invocation_id
    await chat.runner.rewind_async(**ADA, rewind_before_invocation_id=third)
    await chat.say("four")
    assert chat.latest_contents() == ["model: summary 1", "user: four"]


@pytest.mark.parametrize("rewound", [0, 1])
async def test_a_summary_of_events_rewound_in_the_meantime_is_not_stored(rewound: int) -> None:
    """Contract R3."""
    chat = Chat(compacts=False)
    ids = [(await chat.say(message))[-1].invocation_id for message in ("one", "two")]
    chat.summarizer.gate = asyncio.Event()
    compacting = asyncio.create_task(chat.runner.compact_async(**ADA, invocation_id=ids[1]))
    while not chat.summarizer.inputs:
        await asyncio.sleep(0)
    await chat.runner.rewind_async(**ADA, rewind_before_invocation_id=ids[rewound])
    chat.summarizer.gate.set()
    assert await compacting is None
    await chat.say("three")
    assert chat.latest_contents() == ["user: one", "model: ONE", "user: three"][2 * (1 - rewound) :]


async def test_a_withdrawal_that_a_rewind_has_kept_ends_no_summary() -> None:
    chat = Chat(compacts=False, compaction_interval=1)
    await chat.say("one")
    two = (await chat.say("two"))[-1].invocation_id
    withdrawal = withdrawal_of(ToolOfAgent(agent="agent", tool="pay"), "e-withdrawal")
    await chat.service.append_event(await chat.session(), withdrawal)
    await chat.runner.rewind_async(**ADA, rewind_before_invocation_id=two)
    await chat.say("three")
    assert await chat.runner.compact_async(**ADA) is not None
    assert await chat.runner.compact_async(**ADA) is None
    assert chat.summarizer.inputs == [["one", "ONE"]]
    await chat.say("four")
    assert chat.latest_contents() == ["model: summary 1", "user: three", "model: THREE", "user: four"]


async def test_the_latest_agent_before_a_summary_handles_the_next_message() -> None:
    """Also when its latest event is not loaded (contract L8)."""
    model = ScriptedModel()
    last = LlmAgent(name="last", model=model)
    steps = SequentialAgent(name="steps", sub_agents=[last])
    helper = LlmAgent(name="helper", model=model, sub_agents=[steps])
    root = LlmAgent(name="root", model=model, sub_agents=[helper])
    config = EventsCompactionConfig(compaction_interval=1, overlap_size=0, summarizer=RecordingSummarizer())
    runner = InMemoryRunner(app=App(name="shop", root_agent=root, events_compaction_config=config))
    await runner.session_service.create_session(app_name="shop", **ADA)
    model.turns = [
        call("transfer_to_agent", agent_name="helper"),
        call("transfer_to_agent", agent_name="steps"),
        "done",
        "here",
    ]
    for message in ("one", "two"):
        events = [event async for event in runner.run_async(**ADA, new_message=say(message))]
    assert [event.author for event in events] == ["helper"]


async def test_an_app_without_a_model_needs_a_summarizer() -> None:
    config = EventsCompactionConfig(compaction_interval=1, overlap_size=0)
    runner = InMemoryRunner(
        app=App(name="shop", root_agent=SequentialAgent(name="silent"), events_compaction_config=config)
    )
    session = await runner.session_service.create_session(app_name="shop", **ADA)
    await runner.session_service.append_event(
        session, Event(author="user", invocation_id="e-1", content=say("one"))
    )
    with pytest.raises(ConfigurationError, match="summarizer"):
        await runner.compact_async(**ADA, invocation_id="e-1")


@pytest.mark.parametrize(
    "wrong",
    [
        {"compaction_interval": 0, "overlap_size": 0},
        {"compaction_interval": 1, "overlap_size": -1},
        {"compaction_interval": 1, "overlap_size": 0, "token_threshold": 5},
        {"compaction_interval": 1, "overlap_size": 0, "event_retention_size": 5},
        {"compaction_interval": 1, "overlap_size": 0, "interval": 5},
    ],
)
def test_invalid_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        EventsCompactionConfig(**wrong)
