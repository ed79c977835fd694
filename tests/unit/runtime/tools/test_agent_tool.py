"""Contract T6, Q12: `AgentTool`, with the run of the agent replaced."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic import ValidationError

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.context import AgentProtocol, Context
from runtime.events import Event, EventActions
from runtime.models import LlmRequest, LlmResponse
from runtime.plugins import BasePlugin
from runtime.sessions.state import GROUNDING_KEY
from runtime.testing.scripted_model import call as model_call
from runtime.tools import AgentTool
from runtime.tools.sources import add_page, finds_sources
from tests.fakes import ScriptedModel, parts_of
from tests.unit.runtime.conversation import Conversation
from tests.unit.runtime.weather import Place, Weather


class FakeRun:
    """Replaces the Runner's `run_agent_as_tool`: records its arguments and yields the given events."""

    def __init__(self, context: Context, *events: Event) -> None:
        self.events = events
        self.messages: list[str] = []
        self.states: list[dict[str, Any]] = []
        self.closed = False
        context.invocation.run_agent_as_tool = self.play

    async def play(
        self,
        parent: Context,
        agent: AgentProtocol,
        content: types.Content,
        state: dict[str, Any],
        include_plugins: bool,
    ) -> AsyncGenerator[Event, None]:
        self.messages.append("".join(part.text or "" for part in parts_of(content)))
        self.states.append(state)
        try:
            for event in self.events:
                yield event
        finally:
            self.closed = True


def text_event(text: str, **fields: Any) -> Event:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return Event(author="expert", content=content, **fields)


def expert(**fields: Any) -> LlmAgent:
    return LlmAgent(name="expert", description="Knows the weather.", **fields)


async def call(agent: BaseAgent, context: Context, **args: Any) -> Any:
    return await AgentTool(agent).run_async(args=args, tool_context=context)


def parameters_of(tool: AgentTool) -> tuple[list[str], list[str]]:
    """Return the names of all declared parameters and of the required ones."""
    schema = tool._get_declaration().parameters
    assert schema is not None and schema.properties is not None
    return list(schema.properties), schema.required or []


def test_an_agent_is_declared_by_its_name_and_description_with_a_request() -> None:
    declaration = AgentTool(expert())._get_declaration()
    assert (declaration.name, declaration.description) == ("expert", "Knows the weather.")
    assert parameters_of(AgentTool(expert())) == (["request"], ["request"])


def test_the_fields_of_an_input_schema_are_declared_instead() -> None:
    assert parameters_of(AgentTool(expert(input_schema=Place))) == (["city", "country"], ["city"])


def test_an_agent_without_schemas_takes_a_request() -> None:
    assert parameters_of(AgentTool(BaseAgent(name="group"))) == (["request"], ["request"])


async def test_the_agent_gets_the_request_and_the_callers_state_and_its_last_text_is_the_result(
    context: Context,
) -> None:
    context.state["user:name"] = "Ada"
    run = FakeRun(context, text_event("Let me see."), text_event("Su", partial=True), text_event("Sunny."))
    assert await call(expert(), context, request="How is it?") == "Sunny."
    assert run.messages == ["How is it?"]
    assert run.states == [{"color": "red", "user:name": "Ada"}]
    assert run.closed


async def test_an_agent_without_events_returns_an_empty_text(context: Context) -> None:
    FakeRun(context)
    assert await call(expert(), context, request="?") == ""


async def test_state_changes_and_artifacts_of_non_partial_events_reach_the_caller(
    context: Context,
) -> None:
    FakeRun(
        context,
        text_event("a", partial=True, actions=EventActions(state_delta={"lost": 1})),
        text_event("b", actions=EventActions(state_delta={"forecast": "sun"}, artifact_delta={"map.png": 2})),
        text_event("c", actions=EventActions(state_delta={"color": "blue"})),
    )
    await call(expert(), context, request="?")
    assert context.actions.state_delta == {"forecast": "sun", "color": "blue"}
    assert context.actions.artifact_delta == {"map.png": 2}
    assert context.state["forecast"] == "sun"


async def test_an_input_schema_is_validated_and_sent_as_json(context: Context) -> None:
    run = FakeRun(context, text_event("Sunny."))
    agent = expert(input_schema=Place)
    assert await call(agent, context, city="Oslo") == "Sunny."
    assert run.messages == ['{"city":"Oslo"}']


@pytest.mark.parametrize(
    ("fields", "args", "word"),
    [
        ({}, {}, "'request'"),
        ({}, {"request": 3}, "'request'"),
        ({"input_schema": Place}, {"country": "no"}, "'city'"),
    ],
)
async def test_wrong_arguments_are_an_error_response_and_the_agent_does_not_run(
    fields: dict[str, Any], args: dict[str, Any], word: str, context: Context
) -> None:
    run = FakeRun(context, text_event("Sunny."))
    result = await call(expert(**fields), context, **args)
    assert word in result["error"]
    assert run.messages == []


async def test_with_an_output_schema_the_result_is_the_parsed_dict(context: Context) -> None:
    FakeRun(context, text_event('{"degrees": 21, "extra": 1}'))
    assert await call(expert(output_schema=Weather), context, request="?") == {"degrees": 21.0}


async def test_an_answer_that_does_not_fit_the_output_schema_raises(context: Context) -> None:
    FakeRun(context, text_event("Sunny."))
    with pytest.raises(ValidationError):
        await call(expert(output_schema=Weather), context, request="?")


async def test_a_final_error_event_becomes_an_error_response(context: Context) -> None:
    FakeRun(context, Event(author="expert", error_code="SAFETY", error_message="The answer was blocked."))
    assert await call(expert(), context, request="?") == {"error": "expert failed: The answer was blocked."}


async def test_skip_summarization_is_set_on_the_actions_of_the_call(context: Context) -> None:
    FakeRun(context, text_event("Sunny."))
    await AgentTool(expert(), skip_summarization=True).run_async(args={"request": "?"}, tool_context=context)
    assert context.actions.skip_summarization is True


async def test_a_failing_agent_raises_and_its_run_is_closed(context: Context) -> None:
    async def fail(*_: Any) -> AsyncGenerator[Event, None]:
        yield text_event("Let me see.")
        raise ConnectionError("the model is away")

    context.invocation.run_agent_as_tool = fail
    with pytest.raises(ConnectionError, match="away"):
        await call(expert(), context, request="?")


async def test_the_texts_of_the_answer_are_joined_by_newlines_without_thoughts(context: Context) -> None:
    parts = [types.Part(text="hm", thought=True), types.Part(text="one"), types.Part(text="two")]
    FakeRun(context, Event(author="expert", content=types.Content(role="model", parts=parts)))
    assert await call(expert(), context, request="?") == "one\ntwo"


async def test_sources_of_the_agents_answer_become_those_of_the_callers_next_response() -> None:
    sources = types.GroundingMetadata(web_search_queries=["weather"])
    found = LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Sun")]))
    found.grounding_metadata = sources
    for passes_on in (True, False):
        searcher = LlmAgent(name="searcher", model=ScriptedModel(turns=[found]))
        tool = AgentTool(searcher, propagate_grounding_metadata=passes_on)
        turns = [model_call("searcher", request="weather"), "Sun."]
        chat = Conversation(LlmAgent(name="desk", model=ScriptedModel(turns=turns), tools=[tool]))
        [*_, last] = await chat.say("Weather?")
        assert last.grounding_metadata == (sources if passes_on else None)


async def test_the_next_response_has_the_sources_of_all_calls() -> None:
    """Also those that no passage cites, and each passage cites the same sources as before."""

    def found(title: str, cited: int) -> LlmResponse:
        chunks = [page(title), page("unused")]
        support = types.GroundingSupport(grounding_chunk_indices=[cited, 7])
        metadata = types.GroundingMetadata(
            web_search_queries=[title], grounding_chunks=chunks, grounding_supports=[support]
        )
        return LlmResponse(content=types.ModelContent("Sun."), grounding_metadata=metadata)

    def page(title: str) -> types.GroundingChunk:
        return types.GroundingChunk(web=types.GroundingChunkWeb(title=title, uri=f"https://{title}.example"))

    @finds_sources
    def read(title: str, tool_context: Context) -> str:
        add_page(tool_context, title, f"https://{title}.example")
        return "Sunny."

    searcher = LlmAgent(name="searcher", model=ScriptedModel(turns=[found("first", 0), found("second", 0)]))
    turns = [
        model_call("read", title="before"),
        model_call("searcher", request="weather"),
        [model_call("read", title="after"), model_call("searcher", request="weather")],
        "Sun.",
    ]
    tools = [read, AgentTool(searcher, propagate_grounding_metadata=True)]
    [*_, last] = await Conversation(LlmAgent(name="desk", model=ScriptedModel(turns=turns), tools=tools)).say(
        "Weather?"
    )
    sources = last.grounding_metadata
    assert sources and sources.web_search_queries == ["first", "second"]
    titles = [str(chunk.web.title) for chunk in sources.grounding_chunks or [] if chunk.web]
    cited = [
        [titles[index] for index in support.grounding_chunk_indices or ()]
        for support in sources.grounding_supports or ()
    ]
    assert sorted(titles) == ["after", "before", "first", "second", "unused", "unused"]
    assert sorted(cited) == [["after"], ["before"], ["first"], ["second"]]


def searched(author: str, title: str) -> Event:
    """Return an answer with a page that is cited with a score, beside an index of no page, and with a suggestion."""
    chunk = types.GroundingChunk(web=types.GroundingChunkWeb(title=title, uri=f"https://{title}.example"))
    support = types.GroundingSupport(grounding_chunk_indices=[7, 0], confidence_scores=[0.1, 0.9])
    metadata = types.GroundingMetadata(
        grounding_chunks=[chunk],
        grounding_supports=[support],
        search_entry_point=types.SearchEntryPoint(rendered_content=f"<p>{title}</p>"),
    )
    return text_event(title, grounding_metadata=metadata).model_copy(update={"author": author})


async def test_the_sources_of_each_agent_of_a_sequence_are_passed_on(context: Context) -> None:
    events = [searched("first", "old"), searched("first", "a"), searched("second", "b")]
    committed = [event.model_copy(deep=True) for event in events]
    tool = AgentTool(expert(), propagate_grounding_metadata=True)
    for run in (events, [searched("third", "c")], [searched("third", "c")]):
        FakeRun(context, *run)
        await tool.run_async(args={"request": "?"}, tool_context=context)
    sources = context.state[GROUNDING_KEY]
    assert [chunk.web.title for chunk in sources.grounding_chunks] == ["a", "b", "c", "c"]
    cited = [
        (support.grounding_chunk_indices, support.confidence_scores) for support in sources.grounding_supports
    ]
    assert cited == [([0], [0.9]), ([1], [0.9]), ([2], [0.9]), ([3], [0.9])]
    # Google requires that the suggestions of each search are shown.
    assert sources.search_entry_point.rendered_content.split() == ["<p>a</p>", "<p>b</p>", "<p>c</p>"]
    # The events of the agents are stored, and do not change.
    assert events == committed


class Watcher(BasePlugin):
    """Notes the agents whose models are asked."""

    def __init__(self) -> None:
        super().__init__(name="watcher")
        self.agents: list[str] = []

    async def before_model_callback(
        self, *, callback_context: Context, llm_request: LlmRequest
    ) -> LlmResponse | None:
        self.agents.append(callback_context.agent_name)
        return None


@pytest.mark.parametrize(
    ("included", "seen"), [(True, ["desk", "expert", "desk"]), (False, ["desk", "desk"])]
)
async def test_the_plugins_of_the_app_apply_to_the_agent_unless_it_is_left_alone(
    included: bool, seen: list[str]
) -> None:
    tool = AgentTool(expert(model=ScriptedModel(turns=["Sunny."])), include_plugins=included)
    desk = LlmAgent(
        name="desk", model=ScriptedModel(turns=[model_call("expert", request="?"), "Sun."]), tools=[tool]
    )
    watcher = Watcher()
    await Conversation(desk, plugins=[watcher]).say("Weather?")
    assert watcher.agents == seen
