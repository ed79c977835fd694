"""Spec A2, E4: code that the model's provider runs, and results of it that end no turn."""

from __future__ import annotations

from runtime import types
from runtime.agents import LlmAgent
from runtime.code_executors.built_in_code_executor import BuiltInCodeExecutor
from tests.fakes import ScriptedModel
from tests.unit.runtime.conversation import Conversation

CODE = types.Part(executable_code=types.ExecutableCode(code="print(6 * 7)", language=types.Language.PYTHON))
RESULT = types.Part(
    code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="42\n")
)


def lookup(word: str) -> str:
    """Look a word up."""
    return word


def agent_with(*turns: object, **fields: object) -> LlmAgent:
    return LlmAgent(
        name="clerk", model=ScriptedModel(turns=list(turns)), code_executor=BuiltInCodeExecutor(), **fields
    )


async def test_q13_code_execution_is_a_tool_of_its_own_beside_the_function_declarations() -> None:
    agent = agent_with("Hello.", tools=[lookup])
    await Conversation(agent).say("Hi")
    code, functions = agent.model.requests[0].config.tools
    assert code == types.Tool(code_execution=types.ToolCodeExecution())
    assert [declaration.name for declaration in functions.function_declarations] == ["lookup"]


async def test_e4_a_response_that_ends_with_a_result_of_code_keeps_the_turn_going() -> None:
    agent = agent_with([CODE, RESULT], "It is 42.")
    events = await Conversation(agent).say("6 * 7?")
    assert [event.is_final_response() for event in events] == [False, True]
    assert events[0].has_trailing_code_execution_result()
    assert agent.model.requests[1].contents[-1].parts == [CODE, RESULT]


async def test_e4_a_result_in_the_middle_of_an_answer_ends_the_turn_with_it() -> None:
    agent = agent_with([CODE, RESULT, types.Part(text="It is 42.")])
    [event] = await Conversation(agent).say("6 * 7?")
    assert event.is_final_response()


async def test_without_an_executor_nothing_is_switched_on() -> None:
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=["Hello."]))
    await Conversation(agent).say("Hi")
    assert not agent.model.requests[0].config.tools
