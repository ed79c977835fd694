"""Sessions: rewinding, compaction, code execution, missing sessions, events between messages."""

from __future__ import annotations

from typing import Any

from google.genai import types

from runtime.agents import InvocationContext, LlmAgent
from runtime.apps import App
from runtime.apps.app import EventsCompactionConfig
from runtime.code_executors import BaseCodeExecutor
from runtime.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult
from runtime.events import Event, EventActions
from runtime.tools import ToolContext
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.world import APP, USER, Turn, World, call, content_of


def remember(key: str, value: int, tool_context: ToolContext) -> str:
    """«Remember.»"""
    tool_context.state[key] = value
    return "remembered"


async def save(text: str, tool_context: ToolContext) -> int:
    """«Save.»"""
    return await tool_context.save_artifact("a.txt", types.Part(text=text))


def clerk(world: World, *turns: Turn, **settings: Any) -> LlmAgent:
    settings.setdefault("tools", [remember, save])
    return LlmAgent(name="clerk", model=world.model(*turns), **settings)


async def rewind(world: World, agent: LlmAgent, event: Event) -> None:
    await world.runner(agent).rewind_async(
        user_id=USER, session_id="s1", rewind_before_invocation_id=event.invocation_id
    )


@program
async def a_rewound_invocation_is_not_seen(world: World) -> None:
    agent = clerk(world, "One.", "Two.", "Three.")
    [_, second] = await world.play(agent, "First", "Second")
    await rewind(world, agent, second)
    await world.play(agent, "Third")


@program
async def a_rewind_restores_the_state(world: World) -> None:
    turns = (call("remember", key="x", value=1), "One.", call("remember", key="x", value=2), "Two.")
    agent = clerk(world, *turns)
    await world.play(agent, "First")
    events = await world.play(agent, "Second")
    await rewind(world, agent, events[0])


@program
async def a_rewind_removes_a_new_key(world: World) -> None:
    agent = clerk(world, "One.", call("remember", key="x", value=2), "Two.")
    await world.play(agent, "First")
    events = await world.play(agent, "Second")
    await rewind(world, agent, events[0])


@program
async def a_rewind_restores_an_artifact(world: World) -> None:
    agent = clerk(world, call("save", text="1"), "One.", call("save", text="2"), "Two.")
    await world.play(agent, "First")
    events = await world.play(agent, "Second")
    await rewind(world, agent, events[0])


@program
async def a_summary_replaces_old_events(world: World) -> None:
    from runtime.apps.llm_event_summarizer import LlmEventSummarizer

    config = EventsCompactionConfig(
        compaction_interval=2, overlap_size=0, summarizer=LlmEventSummarizer(llm=world.model("Summary."))
    )
    agent = clerk(world, "One.", "Two.", "Three.")
    app = App(name=APP, root_agent=agent, events_compaction_config=config)
    await world.play(app, "First", "Second", "Third")


@program
async def a_session_that_does_not_exist(world: World) -> None:
    world.outcome.add_session("nowhere")
    await world.play(clerk(world), "Hi", session_id="nowhere")


@program
async def an_event_of_the_application_between_messages(world: World) -> None:
    agent = clerk(world, "One.", "Two.", instruction="«Mood {mood?}»")
    await world.play(agent, "First")
    session = await world.sessions.get_session(app_name=APP, user_id=USER, session_id="s1")
    assert session is not None
    event = Event(
        author="user",
        invocation_id="by-hand",
        content=content_of("user", "By the way"),
        actions=EventActions(state_delta={"mood": "good"}),
    )
    await world.sessions.append_event(session, event)
    await world.play(agent, "Second")


@program
async def an_event_of_an_agent_that_is_gone(world: World) -> None:
    agent = clerk(world, "One.")
    await world.open()
    session = await world.sessions.get_session(app_name=APP, user_id=USER, session_id="s1")
    assert session is not None
    event = Event(author="retired", invocation_id="by-hand", content=content_of("model", "I was here."))
    await world.sessions.append_event(session, event)
    await world.play(agent, "Hi")


class Calculator(BaseCodeExecutor):
    """Runs no code: the output is the code in capitals."""

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        code = code_execution_input.code
        if "fail" in code:
            return CodeExecutionResult(stdout="", stderr="FAILED", output_files=[])
        return CodeExecutionResult(stdout=code.upper(), stderr="", output_files=[])


@differing_program("Code of the model leaves nothing", only_in=("actions", "state"))
async def code_in_an_answer_is_executed(world: World) -> None:
    answer = "Let me see.\n```python\nprint(1)\n```"
    await world.play(clerk(world, answer, "It is 1.", code_executor=Calculator(), tools=[]), "Compute")


@differing_program("Code of the model leaves nothing", only_in=("actions", "state"))
async def code_that_fails(world: World) -> None:
    answer = "```python\nfail()\n```"
    await world.play(clerk(world, answer, "Sorry.", code_executor=Calculator(), tools=[]), "Compute")


@program
async def an_answer_without_code(world: World) -> None:
    await world.play(clerk(world, "No code.", code_executor=Calculator(), tools=[]), "Compute")


@differing_program("Code of the model leaves nothing", only_in=("actions", "state"))
async def text_after_the_code(world: World) -> None:
    answer = "First.\n```python\nprint(1)\n```\nAfter.\n```python\nprint(2)\n```"
    await world.play(clerk(world, answer, "Done.", code_executor=Calculator(), tools=[]), "Compute")
