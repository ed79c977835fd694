"""Run of a case: a session in memory, its calls and answers, and failures that say at which message."""

from __future__ import annotations

import asyncio

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.context import Context
from runtime.errors import EvaluationError, ModelError
from runtime.evaluation.efficiency import efficiency_of
from runtime.evaluation.eval_case import IntermediateData, SessionInput
from runtime.evaluation.run_case import run_case
from runtime.models import LlmResponse
from runtime.run_config import RunConfig
from runtime.testing import ScriptedModel, call
from runtime.tools import FunctionTool, LongRunningFunctionTool
from tests.unit.runtime.evaluation.builders import case_of


def price(item: str, tool_context: Context) -> dict[str, object]:
    """Price of an item."""
    return {"price": 20, "currency": tool_context.state.get("currency")}


def report() -> dict[str, str]:
    """Write a report."""
    return {"status": "pending"}


def shop(model: ScriptedModel, *tools: FunctionTool) -> App:
    return App(name="shop", root_agent=LlmAgent(name="clerk", model=model, tools=list(tools)))


async def test_a_case_is_one_session_that_begins_with_its_state() -> None:
    model = ScriptedModel(turns=[call("price", "c-1", item="lamp"), "20 EUR", "You are welcome"])
    begin = SessionInput(app_name="other", user_id="ada", state={"currency": "EUR"})
    found = await run_case(
        shop(model, FunctionTool(price)), case_of("How much?", "Thanks", session_input=begin)
    )
    first, second = found
    data = first.intermediate_data
    assert isinstance(data, IntermediateData)
    assert [(one.name, one.args) for one in data.tool_uses] == [("price", {"item": "lamp"})]
    assert data.tool_responses[0].response == {"price": 20, "currency": "EUR"}
    assert (
        first.final_response and first.final_response.parts and first.final_response.parts[0].text == "20 EUR"
    )
    assert second.final_response and len(model.requests[-1].contents) == 5  # the conversation so far
    assert first.duration and first.duration > 0


async def test_calls_tokens_and_time_of_an_answer_are_measured_and_nothing_fails_by_them() -> None:
    usage = types.GenerateContentResponseUsageMetadata(total_token_count=30)
    asking = LlmResponse(
        content=types.ModelContent([call("price", "c-1", item="lamp")]),
        usage_metadata=usage,
    )
    answering = LlmResponse(content=types.ModelContent("20 EUR"), usage_metadata=usage)
    silent = LlmResponse(content=types.ModelContent("Bye"), model_version="m-1")
    model = ScriptedModel(turns=[asking, answering, silent])
    found = await run_case(shop(model, FunctionTool(price)), case_of("How much?", "Thanks"))
    results = {result.metric: result for result in efficiency_of(found)}
    assert results["tool_call_count_v1"].score == 0.5
    assert results["inference_call_count_v1"].score == 1.5
    # The second answer has not told its tokens: it is left out, and not counted as none.
    assert [one.score for one in results["token_usage_v1"].invocations] == [60.0, None]
    assert results["token_usage_v1"].score == 60.0
    assert (results["invocation_duration_v1"].score or 0) > 0
    assert not any(result.is_failed for result in results.values())


async def test_a_long_running_call_is_not_answered() -> None:
    model = ScriptedModel(turns=[call("report", "c-1"), "I write it."])
    (found,) = await run_case(shop(model, LongRunningFunctionTool(report)), case_of("Report"))
    assert isinstance(found.intermediate_data, IntermediateData)
    assert [one.response for one in found.intermediate_data.tool_responses] == [{"status": "pending"}]
    assert found.final_response


async def test_a_call_that_needs_a_confirmation_is_not_executed() -> None:
    def refund() -> None:
        raise AssertionError("executed")

    model = ScriptedModel(turns=[call("refund", "c-1")])
    (found,) = await run_case(shop(model, FunctionTool(refund, require_confirmation=True)), case_of("Refund"))
    assert isinstance(found.intermediate_data, IntermediateData)
    assert [one.name for one in found.intermediate_data.tool_uses] == ["refund"]
    assert found.final_response is None


async def test_a_failure_names_the_message_and_no_words_of_the_exception() -> None:
    model = ScriptedModel(turns=["Hello", OSError("password=secret")])
    with pytest.raises(EvaluationError, match=r"^Message 2 of the case failed: the agent raised") as caught:
        await run_case(shop(model), case_of("Hello", "How much?"))
    assert isinstance(caught.value.__cause__, OSError) and "secret" not in str(caught.value)


async def test_the_words_of_the_provider_are_in_the_cause_of_a_failure_only() -> None:
    failure = LlmResponse(
        error_code="RESOURCE_EXHAUSTED", error_message="Busy.", error_detail="Quota 7 is used."
    )
    with pytest.raises(EvaluationError) as caught:
        await run_case(shop(ScriptedModel(turns=[failure])), case_of("Hello"))
    assert str(caught.value) == "Message 1 of the case failed: RESOURCE_EXHAUSTED: Busy."
    assert isinstance(caught.value.__cause__, ModelError)
    assert caught.value.__cause__.detail == "Quota 7 is used."


async def test_a_message_that_takes_too_long_fails() -> None:
    model = ScriptedModel(turns=[asyncio.Event()])
    with pytest.raises(EvaluationError, match=r"^Message 1 of the case failed: it took longer than 0 s"):
        await run_case(shop(model), case_of("Hello"), seconds=0.01)


async def test_the_limit_on_model_calls_holds() -> None:
    model = ScriptedModel(turns=[call("price", item="a"), call("price", item="b"), "never"])
    with pytest.raises(EvaluationError, match="Message 1"):
        await run_case(shop(model, FunctionTool(price)), case_of("Go"), run_config=RunConfig(max_llm_calls=2))
