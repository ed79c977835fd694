"""Spec A2: planners change what is asked, and what of the answer is a thought."""

from __future__ import annotations

from runtime import types
from runtime.agents import LlmAgent
from runtime.context import Context, ReadonlyContext
from runtime.models.llm_request import LlmRequest
from runtime.planners import BasePlanner, BuiltInPlanner, PlanReActPlanner
from runtime.planners.plan_re_act_planner import ACTION_TAG, FINAL_ANSWER_TAG, PLANNING_TAG, REPLANNING_TAG
from runtime.run_config import RunConfig, StreamingMode
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation, outline


def lookup(word: str) -> str:
    """Look a word up."""
    return f"{word} is a word"


def agent_with(planner: BasePlanner, *turns: object, **fields: object) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(turns=list(turns)), planner=planner, **fields)


def kinds(parts: list[types.Part]) -> list[tuple[str, str | None]]:
    return [
        ("call", part.function_call.name)
        if part.function_call
        else ("thought" if part.thought else "text", part.text)
        for part in parts
    ]


async def test_a2_the_built_in_planner_sends_its_thinking_config_with_each_request() -> None:
    given = types.ThinkingConfig(include_thoughts=True, thinking_budget=64)
    own = types.GenerateContentConfig(
        temperature=0.5, thinking_config=types.ThinkingConfig(thinking_budget=1)
    )
    agent = agent_with(BuiltInPlanner(thinking_config=given), "Hello.", generate_content_config=own)
    await Conversation(agent).say("Hi")
    [request] = agent.model.requests
    assert request.config.thinking_config == given
    assert request.config.temperature == 0.5
    assert own.thinking_config.thinking_budget == 1, "the agent's own configuration stays"


async def test_a2_the_plan_re_act_planner_names_its_tags_in_the_system_instruction() -> None:
    agent = agent_with(PlanReActPlanner(), "Hello.", instruction="Be kind.")
    await Conversation(agent).say("Hi")
    instruction = agent.model.requests[0].config.system_instruction
    for tag in ("Be kind.", PLANNING_TAG, REPLANNING_TAG, ACTION_TAG, "/*REASONING*/", FINAL_ANSWER_TAG):
        assert tag in instruction


async def test_a2_plan_and_reasoning_become_thoughts_and_the_answer_is_what_the_person_reads() -> None:
    turn = f"{PLANNING_TAG} 1. Think. /*REASONING*/ All is known.{FINAL_ANSWER_TAG}It is blue."
    agent = agent_with(PlanReActPlanner(), turn, output_key="color")
    conversation = Conversation(agent)
    [event] = await conversation.say("Which color?")
    assert kinds(event.content.parts) == [
        ("thought", " 1. Think. /*REASONING*/ All is known."),
        ("text", "It is blue."),
    ]
    assert (await conversation.session()).state == {"color": "It is blue."}


async def test_a2_calls_are_kept_and_run_and_the_plan_goes_back_to_the_model_as_plain_text() -> None:
    first = [
        types.Part(text=f"{PLANNING_TAG}\n1. lookup"),
        types.Part(text=ACTION_TAG),
        call("lookup", word="x"),
    ]
    agent = agent_with(PlanReActPlanner(), first, f"{FINAL_ANSWER_TAG}Done.", tools=[lookup])
    events = await Conversation(agent).say("What is x?")
    assert outline(events) == ["clerk: lookup()", "clerk: =lookup", "clerk: Done."]
    planned = agent.model.requests[1].contents[1].parts
    assert kinds(planned) == [("text", "\n1. lookup"), ("call", "lookup")]


async def test_a2_unmarking_thoughts_for_one_request_leaves_the_sessions_events_as_they_are() -> None:
    agent = agent_with(
        PlanReActPlanner(), f"{PLANNING_TAG}a plan{FINAL_ANSWER_TAG}One.", f"{FINAL_ANSWER_TAG}Two."
    )
    conversation = Conversation(agent)
    await conversation.say("Hi")
    await conversation.say("Again")
    stored = (await conversation.session()).events[1]
    assert kinds(stored.content.parts) == [("thought", "a plan"), ("text", "One.")]


def test_a2_what_follows_the_first_calls_and_calls_without_a_name_are_dropped(context: Context) -> None:
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


def test_a2_text_without_tags_and_thoughts_of_the_model_stay_as_they_are(context: Context) -> None:
    parts = [types.Part(text="hm", thought=True), types.Part(text="Plain.")]
    assert PlanReActPlanner().process_planning_response(context, parts) == parts


async def test_a2_partial_responses_stay_as_they_come() -> None:
    agent = agent_with(PlanReActPlanner(), f"{PLANNING_TAG} think {FINAL_ANSWER_TAG} Blue.")
    events = await Conversation(agent).say("?", RunConfig(streaming_mode=StreamingMode.SSE))
    assert "".join(event.text() for event in events if event.partial).startswith(PLANNING_TAG)
    assert events[-1].text() == " Blue."


async def test_a2_a_planner_of_ones_own_gives_an_instruction_and_may_write_to_the_state() -> None:
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
    assert "clerk plans." in agent.model.requests[0].config.system_instruction
