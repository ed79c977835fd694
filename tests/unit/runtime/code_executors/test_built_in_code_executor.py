"""Contract A2, E4: code execution by the model's provider, and code results that need another step."""

from __future__ import annotations

from typing import Any

from runtime import types
from runtime.agents import LlmAgent
from runtime.code_executors.built_in_code_executor import BuiltInCodeExecutor
from tests.fakes import ScriptedModel, requests_of
from tests.unit.runtime.conversation import Conversation

CODE = types.Part(executable_code=types.ExecutableCode(code="print(6 * 7)", language=types.Language.PYTHON))
RESULT = types.Part(
    code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="42\n")
)


def lookup(word: str) -> str:
    """Look a word up."""
    return word


def agent_with(*turns: object, **fields: Any) -> LlmAgent:
    return LlmAgent(
        name="clerk", model=ScriptedModel(turns=list(turns)), code_executor=BuiltInCodeExecutor(), **fields
    )


async def test_q13_code_execution_is_a_separate_tool_beside_the_function_declarations() -> None:
    agent = agent_with("Hello.", tools=[lookup])
    await Conversation(agent).say("Hi")
    code, functions = requests_of(agent)[0].config.tools or []
    assert code == types.Tool(code_execution=types.ToolCodeExecution())
    assert isinstance(functions, types.Tool)
    assert [declaration.name for declaration in functions.function_declarations or []] == ["lookup"]


async def test_e4_a_response_that_ends_with_a_code_result_is_followed_by_another_step() -> None:
    agent = agent_with([CODE, RESULT], "It is 42.")
    events = await Conversation(agent).say("6 * 7?")
    assert [event.is_final_response() for event in events] == [False, True]
    assert events[0].has_trailing_code_execution_result()
    assert requests_of(agent)[1].contents[-1].parts == [CODE, RESULT]


async def test_e4_a_response_with_text_after_a_code_result_is_final() -> None:
    agent = agent_with([CODE, RESULT, types.Part(text="It is 42.")])
    [event] = await Conversation(agent).say("6 * 7?")
    assert event.is_final_response()


async def test_without_an_executor_code_execution_is_not_enabled() -> None:
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=["Hello."]))
    await Conversation(agent).say("Hi")
    assert not requests_of(agent)[0].config.tools
