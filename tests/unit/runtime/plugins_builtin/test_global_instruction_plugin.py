"""GlobalInstructionPlugin: one instruction before the system instruction of every agent (contract A3, C4)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.agents.readonly_context import ReadonlyContext
from runtime.context import Context, InvocationContext
from runtime.errors import PluginError
from runtime.models.llm_request import LlmRequest
from runtime.plugins import GlobalInstructionPlugin
from runtime.sessions.in_memory_session_service import InMemorySessionService
from tests.fakes import ScriptedModel, call, requests_of
from tests.unit.runtime.conversation import Conversation


async def test_the_instruction_comes_first_for_every_agent_and_is_filled_from_the_state() -> None:
    child = LlmAgent(name="child", model=ScriptedModel(turns=["Hello."]), instruction="Child.")
    model = ScriptedModel(turns=[call("transfer_to_agent", agent_name="child")])
    root = LlmAgent(name="root", model=model, instruction="Root.", sub_agents=[child])
    plugin = GlobalInstructionPlugin("Shop: {shop}.")
    await Conversation(root, plugins=[plugin], state={"shop": "Tea"}).say("Hi")
    assert str(model.requests[0].config.system_instruction).startswith("Shop: Tea.\n\nRoot.")
    assert str(requests_of(child)[0].config.system_instruction).startswith("Shop: Tea.\n\nChild.")


async def test_a_provider_may_be_async_and_may_return_an_empty_text() -> None:
    async def provider(context: ReadonlyContext) -> str:
        return f"You serve {context.user_id}." if context.state.get("named") else ""

    cases: list[tuple[dict[str, Any], str]] = [({"named": True}, "You serve ada.\n\nOwn."), ({}, "Own.")]
    for state, start in cases:
        agent = LlmAgent(name="clerk", model=ScriptedModel(turns=["Hello."]), instruction="Own.")
        await Conversation(agent, plugins=[GlobalInstructionPlugin(provider)], state=state).say("Hi")
        assert str(requests_of(agent)[0].config.system_instruction).startswith(start)


async def test_the_error_for_a_missing_key_names_the_key_and_the_plugin() -> None:
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=["Hello."]))
    with pytest.raises(PluginError, match=r"global_instruction.*shop"):
        await Conversation(agent, plugins=[GlobalInstructionPlugin("{shop}")]).say("Hi")


@pytest.mark.parametrize(
    ("current", "combined"),
    [
        (None, "First."),
        ("Then.", "First.\n\nThen."),
        (["Then.", types.Part(text="Last.")], ["First.", "Then.", types.Part(text="Last.")]),
        (types.Part(text="Then."), ["First.", types.Part(text="Then.")]),
        (
            types.Content(parts=[types.Part(text="Then.")]),
            types.Content(parts=[types.Part(text="First."), types.Part(text="Then.")]),
        ),
    ],
)
async def test_the_instruction_is_prepended_to_an_instruction_of_any_type(
    current: Any, combined: Any
) -> None:
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="shop", user_id="ada")
    agent = LlmAgent(name="clerk")
    context = Context(
        InvocationContext(invocation_id="e-1", agent=agent, session=session, session_service=sessions)
    )
    request = LlmRequest(config=types.GenerateContentConfig(system_instruction=current))
    await GlobalInstructionPlugin("First.").before_model_callback(
        callback_context=context, llm_request=request
    )
    assert request.config.system_instruction == combined
