"""Structured output: a schema alone, a schema with tools, and the value of `output_key` (contract A4, Q13, Q18)."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from tests.acceptance.agents.capitals import (
    CapitalInfo,
    capital_agent_with_tool,
    structured_agent_with_tool,
    structured_info_agent,
)
from tests.acceptance.agents.stage import Stage
from tests.fakes import call
from tests.unit.runtime.conversation import outline

PARIS = {"capital": "Paris", "population_estimate": 2_100_000}
QUESTION = '{"country": "France"}'


async def test_without_a_schema_the_answer_is_text() -> None:
    stage = Stage(
        capital_agent_with_tool,
        capital_agent_tool=[call("get_capital_city", country="France"), "It is Paris."],
    )
    await stage.open()
    assert outline(await stage.say(QUESTION)) == [
        "capital_agent_tool: get_capital_city()",
        "capital_agent_tool: =get_capital_city",
        "capital_agent_tool: It is Paris.",
    ]
    assert (await stage.stored()).state == {"capital_tool_result": "It is Paris."}


async def test_a_schema_without_tools_is_sent_to_the_provider_and_the_object_is_stored() -> None:
    stage = Stage(structured_info_agent, structured_info_agent=[json.dumps(PARIS)])
    await stage.open()
    [event] = await stage.say(QUESTION)
    assert CapitalInfo.model_validate_json(event.text()).capital == "Paris"
    assert (await stage.stored()).state == {"structured_info_result": PARIS}
    config = stage.models["structured_info_agent"].requests[0].config
    assert config.response_schema is not None
    assert config.response_mime_type == "application/json"


async def test_with_tools_the_model_answers_by_a_call_and_the_event_holds_json() -> None:
    stage = Stage(
        structured_agent_with_tool,
        structured_agent_tool=[
            call("get_capital_city", country="France"),
            call("set_model_response", **PARIS),
        ],
    )
    await stage.open()
    events = await stage.say(QUESTION)
    assert outline(events)[:4] == [
        "structured_agent_tool: get_capital_city()",
        "structured_agent_tool: =get_capital_city",
        "structured_agent_tool: set_model_response()",
        "structured_agent_tool: =set_model_response",
    ]
    assert json.loads(events[4].text()) == PARIS
    assert events[4].is_final_response()
    assert (await stage.stored()).state == {"structured_tool_result": PARIS}


async def test_an_answer_that_does_not_follow_the_schema_is_an_error() -> None:
    stage = Stage(structured_info_agent, structured_info_agent=['{"capital": "Paris"}'])
    await stage.open()
    with pytest.raises(ValidationError, match="population_estimate"):
        await stage.say(QUESTION)
    assert (await stage.stored()).state == {}
