"""An agent with an output schema ends with one final response that follows it (contract A4, Q13, Q18)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from runtime import types
from runtime.agents import LlmAgent
from runtime.models.base_llm import Capabilities
from runtime.models.llm_response import LlmResponse
from runtime.tools import AgentTool, LongRunningFunctionTool
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation, outline, requests_to, response_of


class Weather(BaseModel):
    city: str
    degrees: float
    note: str | None = None


class ModelWithSchemaAndTools(ScriptedModel):
    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(schema_with_tools=True)


OSLO = {"city": "Oslo", "degrees": 3.5}


def measure(city: str) -> float:
    """Measure the temperature."""
    return 3.5


def reporter(*turns: object, model: type[ScriptedModel] = ScriptedModel, **fields: Any) -> LlmAgent:
    fields = {"output_schema": Weather, "output_key": "report", **fields}
    return LlmAgent(name="reporter", model=model(turns=list(turns)), **fields)


def declared(agent: LlmAgent, request: int = 0) -> dict[str, types.FunctionDeclaration]:
    tools = requests_to(agent)[request].config.tools or []
    return {
        declaration.name or "": declaration
        for tool in tools
        if isinstance(tool, types.Tool)
        for declaration in tool.function_declarations or []
    }


def parameters_of_answer(agent: LlmAgent) -> types.Schema:
    parameters = declared(agent)["set_model_response"].parameters
    assert parameters is not None
    return parameters


async def test_q13_without_tools_the_request_carries_the_schema_and_the_key_holds_the_dict() -> None:
    agent = reporter(json.dumps(OSLO))
    conversation = Conversation(agent)
    [event] = await conversation.say("Oslo?")
    config = requests_to(agent)[0].config
    assert (config.response_schema, config.response_mime_type) == (Weather, "application/json")
    assert event.actions.state_delta == {"report": OSLO}
    assert (await conversation.session()).state == {"report": OSLO}


async def test_q18_a_model_that_accepts_a_schema_with_tools_gets_both() -> None:
    agent = reporter(
        call("measure", city="Oslo"), json.dumps(OSLO), model=ModelWithSchemaAndTools, tools=[measure]
    )
    events = await Conversation(agent).say("Oslo?")
    assert outline(events) == ["reporter: measure()", "reporter: =measure", f"reporter: {json.dumps(OSLO)}"]
    assert requests_to(agent)[0].config.response_schema is Weather
    assert list(declared(agent)) == ["measure"]
    assert events[-1].actions.state_delta == {"report": OSLO}


async def test_q18_another_model_answers_by_a_call_whose_arguments_are_the_final_response() -> None:
    agent = reporter(call("measure", city="Oslo"), call("set_model_response", **OSLO), tools=[measure])
    conversation = Conversation(agent)
    events = await conversation.say("Oslo?")
    assert outline(events) == [
        "reporter: measure()",
        "reporter: =measure",
        "reporter: set_model_response()",
        "reporter: =set_model_response",
        f"reporter: {json.dumps(OSLO)}",
    ]
    assert [event.is_final_response() for event in events] == [False, False, False, False, True]
    assert response_of(events[3]) == OSLO
    assert [event.actions.set_model_response for event in events] == [None, None, None, OSLO, None]
    assert events[-1].content is not None and events[-1].content.role == "model"
    assert (await conversation.session()).state == {"report": OSLO}
    request = requests_to(agent)[0]
    assert request.config.response_schema is None
    assert "set_model_response" in str(request.config.system_instruction)
    answer = parameters_of_answer(agent)
    assert list(answer.properties or ()) == ["city", "degrees", "note"]
    assert answer.required == ["city", "degrees"]


async def test_q18_arguments_that_do_not_follow_the_schema_are_returned_to_the_model() -> None:
    wrong = call("set_model_response", city="Oslo", degrees="cold")
    agent = reporter(wrong, call("set_model_response", **OSLO), tools=[measure])
    events = await Conversation(agent).say("Oslo?")
    assert "'degrees'" in response_of(events[1])["error"]
    assert len(requests_to(agent)) == 2
    assert [event.is_final_response() for event in events].count(True) == 1
    assert events[-1].actions.state_delta == {"report": OSLO}


@pytest.mark.parametrize(
    ("schema", "args", "value"),
    [
        (list[Weather], {"items": [OSLO]}, [OSLO]),
        (list[str], {"response": ["a"]}, ["a"]),
        (dict[str, int], {"response": {"a": 1}}, {"a": 1}),
        (int, {"response": 3}, 3),
        ({"type": "OBJECT", "properties": {"error": {"type": "STRING"}}}, {"error": "none"}, {"error": "none"}),
        (types.Schema(type=types.Type.ARRAY, items=types.Schema(type=types.Type.STRING)), {"response": ["a"]}, ["a"]),
    ],
)  # fmt: skip
async def test_q18_schemas_of_every_kind_can_be_answered_by_a_call(
    schema: Any, args: dict[str, Any], value: Any
) -> None:
    agent = reporter(call("set_model_response", **args), tools=[measure], output_schema=schema)
    events = await Conversation(agent).say("?")
    assert json.loads(events[-1].text()) == value
    assert events[-1].actions.state_delta == {"report": value}
    assert list(parameters_of_answer(agent).properties or ()) == list(args)


async def test_q18_an_array_of_objects_that_is_not_passed_as_items_is_refused() -> None:
    agent = reporter(
        call("set_model_response", response=[]),
        call("set_model_response", items=[]),
        tools=[measure],
        output_schema=list[Weather],
    )
    events = await Conversation(agent).say("?")
    assert "'items'" in response_of(events[1])["error"]
    assert events[-1].text() == "[]"


async def test_q18_a_schema_can_be_combined_with_transfer() -> None:
    expert = LlmAgent(name="expert", model=ScriptedModel(turns=["It rains."]))
    agent = reporter(call("transfer_to_agent", agent_name="expert"), sub_agents=[expert])
    conversation = Conversation(agent)
    events = await conversation.say("?")
    assert list(declared(agent)) == ["transfer_to_agent", "set_model_response"]
    assert outline(events)[-1] == "expert: It rains."
    assert (await conversation.session()).state == {}


async def test_a_users_tool_named_set_model_response_is_an_ordinary_tool() -> None:
    def set_model_response(result: str) -> dict[str, str]:
        """Tool of the user, not the framework's tool of this name."""
        return {"result": result}

    model = ScriptedModel(turns=[call("set_model_response", result="x"), "Done."])
    agent = LlmAgent(name="clerk", model=model, tools=[set_model_response])
    assert outline(await Conversation(agent).say("?"))[-1] == "clerk: Done."


@pytest.mark.parametrize("tools", [[], [measure]])
async def test_a4_a_final_text_that_does_not_follow_the_schema_ends_the_invocation(tools: list[Any]) -> None:
    conversation = Conversation(reporter("It is cold.", tools=tools))
    with pytest.raises(ValidationError) as failure:
        await conversation.say("Oslo?")
    assert failure.value.__notes__ == ["The answer of agent 'reporter' does not follow its output_schema."]
    stored = await conversation.session()
    assert stored.state == {}
    assert [(event.author, event.error_code) for event in stored.events[1:]] == [
        ("reporter", "ValidationError")
    ]


async def test_a4_without_an_output_key_the_text_is_left_to_its_reader() -> None:
    [event] = await Conversation(reporter("It is cold.", output_key=None)).say("Oslo?")
    assert (event.text(), event.error_code) == ("It is cold.", None)


async def test_a4_thoughts_are_not_part_of_the_output() -> None:
    parts = [types.Part(text="Let me see.", thought=True), types.Part(text=json.dumps(OSLO))]
    [event] = await Conversation(reporter(parts)).say("Oslo?")
    assert event.actions.state_delta == {"report": OSLO}


async def test_a4_text_beside_a_long_running_call_is_not_validated() -> None:
    def ask_station(city: str) -> None:
        """Ask the weather station."""

    turn = [types.Part(text="I ask the station."), call("ask_station", city="Oslo")]
    agent = reporter(turn, tools=[LongRunningFunctionTool(ask_station)])
    events = await Conversation(agent).say("Oslo?")
    assert events[0].error_code is None
    assert events[0].actions.state_delta == {}


async def test_a4_the_answer_of_an_agent_tool_is_the_dict_and_a_wrong_one_a_failure_of_the_tool() -> None:
    child = reporter(json.dumps(OSLO), "It is cold.", output_key=None)
    turns = [call("reporter", request="Oslo"), call("reporter", request="Oslo"), "Done."]
    agent = LlmAgent(
        name="clerk",
        model=ScriptedModel(turns=turns),
        tools=[AgentTool(child)],
        on_tool_error_callback=lambda **kwargs: {"failed": type(kwargs["error"]).__name__},
    )
    events = await Conversation(agent).say("?")
    assert [response_of(event) for event in (events[1], events[3])] == [OSLO, {"failed": "ValidationError"}]
    assert events[-1].text() == "Done."


async def test_e7_calls_in_a_response_with_an_error_code_are_dropped() -> None:
    ran: list[str] = []

    def order(item: str) -> str:
        """Order something."""
        ran.append(item)
        return item

    content = types.Content(role="model", parts=[types.Part(text="I order"), call("order", item="tea")])
    turn = LlmResponse(content=content, error_code="MALFORMED_FUNCTION_CALL", error_message="Cut off.")
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=[turn]), tools=[LongRunningFunctionTool(order)])
    [event] = await Conversation(agent).say("Tea")
    assert (event.error_code, event.text()) == ("MALFORMED_FUNCTION_CALL", "I order")
    assert event.get_function_calls() == []
    assert event.long_running_tool_ids is None
    assert ran == []


async def test_e7_an_error_response_of_calls_alone_becomes_an_event_without_content() -> None:
    content = types.Content(role="model", parts=[call("order")])
    turn = LlmResponse(content=content, error_code="SAFETY", error_message="Blocked.")
    [event] = await Conversation(LlmAgent(name="clerk", model=ScriptedModel(turns=[turn]))).say("Tea")
    assert (event.error_code, event.content) == ("SAFETY", None)
