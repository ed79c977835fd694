"""Spec T6, Q12: an agent as a tool."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic import ValidationError

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.context import Context, InvocationContext
from runtime.events import Event, EventActions
from runtime.tools import AgentTool
from tests.unit.runtime.weather import Place, Weather


class Run:
    """Stands in for the Runner: records what is asked of it and plays events."""

    def __init__(self, context: Context, *events: Event) -> None:
        self.events = events
        self.messages: list[str] = []
        self.states: list[dict[str, Any]] = []
        self.closed = False
        context.invocation.run_child = self.play

    async def play(
        self, parent: InvocationContext, agent: BaseAgent, content: types.Content, state: dict[str, Any]
    ) -> AsyncGenerator[Event, None]:
        self.messages.append("".join(part.text for part in content.parts))
        self.states.append(state)
        try:
            for event in self.events:
                yield event
        finally:
            self.closed = True


def says(text: str, **fields: Any) -> Event:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return Event(author="expert", content=content, **fields)


def expert(**fields: Any) -> LlmAgent:
    return LlmAgent(name="expert", description="Knows the weather.", **fields)


async def call(agent: BaseAgent, context: Context, **args: Any) -> Any:
    return await AgentTool(agent).run_async(args=args, tool_context=context)


def test_an_agent_is_declared_by_its_name_and_description_with_a_request() -> None:
    declaration = AgentTool(expert())._get_declaration()
    assert (declaration.name, declaration.description) == ("expert", "Knows the weather.")
    assert list(declaration.parameters.properties) == ["request"]
    assert declaration.parameters.required == ["request"]


def test_an_input_schema_declares_its_fields_instead() -> None:
    parameters = AgentTool(expert(input_schema=Place))._get_declaration().parameters
    assert list(parameters.properties) == ["city", "country"]
    assert parameters.required == ["city"]


def test_an_agent_without_schemas_of_its_own_takes_a_request() -> None:
    assert list(AgentTool(BaseAgent(name="group"))._get_declaration().parameters.properties) == ["request"]


async def test_the_agent_gets_the_request_and_the_callers_state_and_its_last_words_are_the_result(
    context: Context,
) -> None:
    context.state["user:name"] = "Ada"
    run = Run(context, says("Let me see."), says("Su", partial=True), says("Sunny."))
    assert await call(expert(), context, request="How is it?") == "Sunny."
    assert run.messages == ["How is it?"]
    assert run.states == [{"color": "red", "user:name": "Ada"}]
    assert run.closed


async def test_thoughts_are_no_part_of_the_result(context: Context) -> None:
    thought, answer = types.Part(text="Hm. ", thought=True), types.Part(text="Sunny.")
    Run(context, Event(author="expert", content=types.Content(role="model", parts=[thought, answer])))
    assert await call(expert(), context, request="?") == "Sunny."


async def test_an_agent_that_says_nothing_gives_an_empty_text(context: Context) -> None:
    Run(context)
    assert await call(expert(), context, request="?") == ""


async def test_state_changes_and_artifacts_reach_the_caller_but_not_those_of_partial_events(
    context: Context,
) -> None:
    Run(
        context,
        says("a", partial=True, actions=EventActions(state_delta={"lost": 1})),
        says("b", actions=EventActions(state_delta={"forecast": "sun"}, artifact_delta={"map.png": 2})),
        says("c", actions=EventActions(state_delta={"color": "blue"})),
    )
    await call(expert(), context, request="?")
    assert context.actions.state_delta == {"forecast": "sun", "color": "blue"}
    assert context.actions.artifact_delta == {"map.png": 2}
    assert context.state["forecast"] == "sun"


async def test_an_input_schema_is_validated_and_sent_as_json(context: Context) -> None:
    run = Run(context, says("Sunny."))
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
    run = Run(context, says("Sunny."))
    result = await call(expert(**fields), context, **args)
    assert word in result["error"]
    assert run.messages == []


async def test_an_output_schema_makes_the_parsed_dict_the_result(context: Context) -> None:
    Run(context, says('{"degrees": 21, "extra": 1}'))
    assert await call(expert(output_schema=Weather), context, request="?") == {"degrees": 21.0}


async def test_an_answer_that_does_not_fit_the_output_schema_raises(context: Context) -> None:
    Run(context, says("Sunny."))
    with pytest.raises(ValidationError):
        await call(expert(output_schema=Weather), context, request="?")


async def test_an_agent_that_ends_with_an_error_event_gives_an_error_response(context: Context) -> None:
    Run(context, Event(author="expert", error_code="SAFETY", error_message="The answer was blocked."))
    assert await call(expert(), context, request="?") == {"error": "expert failed: The answer was blocked."}


async def test_skip_summarization_is_set_on_the_actions_of_the_call(context: Context) -> None:
    Run(context, says("Sunny."))
    await AgentTool(expert(), skip_summarization=True).run_async(args={"request": "?"}, tool_context=context)
    assert context.actions.skip_summarization is True


async def test_a_failing_agent_raises_and_its_run_is_closed(context: Context) -> None:
    async def fail(*_: Any) -> AsyncGenerator[Event, None]:
        yield says("Let me see.")
        raise ConnectionError("the model is away")

    context.invocation.run_child = fail
    with pytest.raises(ConnectionError, match="away"):
        await call(expert(), context, request="?")
