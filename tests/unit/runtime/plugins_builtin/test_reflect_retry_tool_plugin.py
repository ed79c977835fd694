"""ReflectAndRetryToolPlugin: a limited number of a tool's failures is answered with guidance (contract T4, C4)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime.agents import LlmAgent
from runtime.errors import ConfigurationError, PluginError
from runtime.plugins import ReflectAndRetryToolPlugin
from runtime.plugins.reflect_retry_tool_plugin import REFLECT_AND_RETRY_RESPONSE_TYPE
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation


async def divide(a: int, b: int) -> float:
    """Divide."""
    await asyncio.sleep(0)
    return a / b


def other(b: int) -> float:
    """Something else."""
    return 1 / b


WRONG, RIGHT = call("divide", a=1, b=0), call("divide", a=1, b=2)


def talk(plugin: ReflectAndRetryToolPlugin, *turns: object, **fields: Any) -> Conversation:
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=list(turns)), tools=[divide, other], **fields)
    return Conversation(agent, plugins=[plugin])


async def responses(conversation: Conversation) -> list[dict[str, Any]]:
    events = (await conversation.session()).events
    return [response.response or {} for event in events for response in event.get_function_responses()]


async def test_the_model_gets_guidance_and_can_correct_its_call() -> None:
    conversation = talk(ReflectAndRetryToolPlugin(), WRONG, RIGHT, "Half.")
    events = await conversation.say("1 / 2?")
    failed, done = await responses(conversation)
    assert failed["response_type"] == REFLECT_AND_RETRY_RESPONSE_TYPE
    assert (failed["error_type"], failed["retry_count"]) == ("ZeroDivisionError", 1)
    assert "divide" in failed["reflection_guidance"] and '"b": 0' in failed["reflection_guidance"]
    assert done == {"result": 0.5}
    assert events[-1].text() == "Half."


async def test_t4_a_failure_above_the_limit_is_raised_unchanged() -> None:
    conversation = talk(ReflectAndRetryToolPlugin(max_retries=2), WRONG, WRONG, WRONG)
    with pytest.raises(ZeroDivisionError):
        await conversation.say("?")
    assert [response["retry_count"] for response in await responses(conversation)] == [1, 2]


async def test_without_raising_the_model_is_told_to_stop_using_the_tool() -> None:
    plugin = ReflectAndRetryToolPlugin(max_retries=1, throw_exception_if_retry_exceeded=False)
    conversation = talk(plugin, WRONG, WRONG, "I cannot.")
    await conversation.say("?")
    first, last = await responses(conversation)
    assert "do not call `divide` again" not in first["reflection_guidance"]
    assert "do not call `divide` again" in last["reflection_guidance"]


async def test_with_zero_retries_the_first_failure_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await talk(ReflectAndRetryToolPlugin(max_retries=0), WRONG).say("?")


async def test_the_agents_own_callback_is_called_when_the_plugin_gives_up() -> None:
    def calm(**_: Any) -> dict[str, Any]:
        return {"result": "never mind"}

    plugin = ReflectAndRetryToolPlugin(max_retries=0)
    conversation = talk(plugin, WRONG, "Well.", on_tool_error_callback=calm)
    await conversation.say("?")
    assert await responses(conversation) == [{"result": "never mind"}]


async def test_a_success_resets_the_count_and_each_tool_has_its_own() -> None:
    plugin = ReflectAndRetryToolPlugin(max_retries=1)
    conversation = talk(plugin, WRONG, RIGHT, WRONG, call("other", b=0), "Done.")
    await conversation.say("?")
    assert [response.get("retry_count") for response in await responses(conversation)] == [1, None, 1, 1]


async def test_each_invocation_has_its_own_count_which_is_not_stored() -> None:
    conversation = talk(ReflectAndRetryToolPlugin(max_retries=1), WRONG, "No.", WRONG, "No.")
    await conversation.say("?")
    await conversation.say("?")
    assert [response["retry_count"] for response in await responses(conversation)] == [1, 1]
    assert (await conversation.session()).state == {}


async def test_parallel_failures_of_one_tool_are_counted_individually() -> None:
    conversation = talk(ReflectAndRetryToolPlugin(), [WRONG, WRONG, WRONG], "No.")
    await conversation.say("?")
    assert sorted(response["retry_count"] for response in await responses(conversation)) == [1, 2, 3]


class ReadsErrors(ReflectAndRetryToolPlugin):
    async def extract_error_from_result(self, *, result: Any, **_: Any) -> Any | None:
        return "too small" if result == 0.5 else None


async def test_a_subclass_can_find_errors_in_results() -> None:
    conversation = talk(ReadsErrors(max_retries=1), RIGHT, "No.")
    await conversation.say("?")
    [response] = await responses(conversation)
    assert (response["error_type"], response["error_details"]) == ("ToolError", "too small")


async def test_q6_too_many_results_with_errors_fail_the_invocation_and_name_the_tool() -> None:
    conversation = talk(ReadsErrors(max_retries=1), RIGHT, RIGHT)
    with pytest.raises(PluginError, match=r"'divide' has used up its limit of retries \(1\): too small"):
        await conversation.say("?")


def test_negative_retries_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="-1"):
        ReflectAndRetryToolPlugin(max_retries=-1)
