"""Contract A2: planners change the request, and mark parts of the response as thoughts."""

from __future__ import annotations

from typing import Any

from runtime import types
from runtime.agents import LlmAgent
from runtime.context import Context, ReadonlyContext
from runtime.models.llm_request import LlmRequest
from runtime.planners import BasePlanner, BuiltInPlanner, PlanReActPlanner
from runtime.planners.plan_re_act_planner import ACTION_TAG, FINAL_ANSWER_TAG, PLANNING_TAG, REPLANNING_TAG
from runtime.run_config import RunConfig, StreamingMode
from tests.fakes import ScriptedModel, call, parts_of, requests_of
from tests.unit.runtime.conversation import Conversation, outline


def lookup(word: str) -> str:
    """Look a word up."""
    return f"{word} is a word"


def agent_with(planner: BasePlanner, *turns: object, **fields: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(turns=list(turns)), planner=planner, **fields)


def kinds(parts: list[types.Part] | None) -> list[tuple[str, str | None]]:
    return [
        ("call", part.function_call.name)
        if part.function_call
        else ("thought" if part.thought else "text", part.text)
        for part in parts or []
    ]


async def test_a2_the_built_in_planner_sets_its_thinking_config_on_each_request() -> None:
    thinking = types.ThinkingConfig(include_thoughts=True, thinking_budget=64)
    configured = types.ThinkingConfig(thinking_budget=1)
    own = types.GenerateContentConfig(temperature=0.5, thinking_config=configured)
    agent = agent_with(BuiltInPlanner(thinking_config=thinking), "Hello.", generate_content_config=own)
    await Conversation(agent).say("Hi")
    [request] = requests_of(agent)
    assert request.config.thinking_config == thinking
    assert request.config.temperature == 0.5
    assert configured.thinking_budget == 1, "the agent's own configuration is not changed"


async def test_a2_the_plan_re_act_planner_describes_its_tags_in_the_system_instruction() -> None:
    agent = agent_with(PlanReActPlanner(), "Hello.", instruction="Be kind.")
    await Conversation(agent).say("Hi")
    instruction = str(requests_of(agent)[0].config.system_instruction)
    for tag in ("Be kind.", PLANNING_TAG, REPLANNING_TAG, ACTION_TAG, "/*REASONING*/", FINAL_ANSWER_TAG):
        assert tag in instruction


async def test_a2_plan_and_reasoning_become_thoughts_and_the_answer_stays_visible() -> None:
    turn = f"{PLANNING_TAG} 1. Think. /*REASONING*/ All is known.{FINAL_ANSWER_TAG}It is blue."
    agent = agent_with(PlanReActPlanner(), turn, output_key="color")
    conversation = Conversation(agent)
    [event] = await conversation.say("Which color?")
    assert kinds(parts_of(event.content)) == [
        ("thought", " 1. Think.  All is known."),
        ("text", "It is blue."),
    ]
    assert (await conversation.session()).state == {"color": "It is blue."}


async def test_a2_calls_are_executed_and_the_plan_is_sent_back_as_plain_text() -> None:
    first = [
        types.Part(text=f"{PLANNING_TAG}\n1. lookup"),
        types.Part(text=ACTION_TAG),
        call("lookup", word="x"),
    ]
    agent = agent_with(PlanReActPlanner(), first, f"{FINAL_ANSWER_TAG}Done.", tools=[lookup])
    events = await Conversation(agent).say("What is x?")
    assert outline(events) == ["clerk: lookup()", "clerk: =lookup", "clerk: Done."]
    planned = requests_of(agent)[1].contents[1].parts
    assert kinds(planned) == [("text", "\n1. lookup"), ("call", "lookup")]


async def test_a2_unmarking_thoughts_in_a_request_does_not_change_the_sessions_events() -> None:
    agent = agent_with(
        PlanReActPlanner(), f"{PLANNING_TAG}a plan{FINAL_ANSWER_TAG}One.", f"{FINAL_ANSWER_TAG}Two."
    )
    conversation = Conversation(agent)
    await conversation.say("Hi")
    await conversation.say("Again")
    stored = (await conversation.session()).events[1]
    assert kinds(parts_of(stored.content)) == [("thought", "a plan"), ("text", "One.")]


def test_a2_nameless_calls_and_parts_after_the_first_calls_are_dropped(context: Context) -> None:
    parts = [
        types.Part(text=f"{REPLANNING_TAG}better"),
        call(""),
        call("a"),
        call("b"),
        types.Part(text="I suppose that a gave 1."),
        call("c"),
    ]
    processed = PlanReActPlanner().process_planning_response(context, parts)
    assert kinds(processed) == [("thought", "better"), ("call", "a"), ("call", "b")]


def test_a2_untagged_text_and_the_models_own_thoughts_are_not_changed(context: Context) -> None:
    parts = [types.Part(text="hm", thought=True), types.Part(text="Plain.")]
    assert PlanReActPlanner().process_planning_response(context, parts) == parts


async def test_a2_partial_responses_are_not_changed() -> None:
    agent = agent_with(PlanReActPlanner(), f"{PLANNING_TAG} think {FINAL_ANSWER_TAG} Blue.")
    events = await Conversation(agent).say("?", RunConfig(streaming_mode=StreamingMode.SSE))
    assert "".join(event.text() for event in events if event.partial).startswith(PLANNING_TAG)
    assert events[-1].text() == " Blue."


async def test_a2_a_custom_planner_adds_an_instruction_and_may_write_to_the_state() -> None:
    class Counting(BasePlanner):
        def build_planning_instruction(
            self, readonly_context: ReadonlyContext, llm_request: LlmRequest
        ) -> str:
            return f"{readonly_context.agent_name} plans."

        def process_planning_response(
            self, callback_context: Context, response_parts: list[types.Part]
        ) -> list[types.Part] | None:
            callback_context.state["seen"] = callback_context.state.get("seen", 0) + 1
            return None

    agent = agent_with(Counting(), "Hello.")
    conversation = Conversation(agent)
    [event] = await conversation.say("Hi")
    assert event.actions.state_delta == {"seen": 1}
    assert "clerk plans." in str(requests_of(agent)[0].config.system_instruction)
