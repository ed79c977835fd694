"""Spec A2, Q17, Q18: how an LLM agent is configured."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.agents import Agent, BaseAgent, LlmAgent
from runtime.models.registry import LLMRegistry
from tests.fakes import ScriptedModel
from tests.unit.runtime.conversation import Conversation


def test_agent_is_another_name_of_it() -> None:
    """A2."""
    assert Agent is LlmAgent


def test_the_model_is_inherited_from_the_nearest_ancestor_that_has_one() -> None:
    """A2."""
    near, far = ScriptedModel(model="near"), ScriptedModel(model="far")
    leaf, own = LlmAgent(name="leaf"), LlmAgent(name="own", model=ScriptedModel(model="own"))
    plain = BaseAgent(name="plain", sub_agents=[leaf, own])
    LlmAgent(name="root", model=far, sub_agents=[LlmAgent(name="middle", model=near, sub_agents=[plain])])
    assert leaf.canonical_model is near
    assert own.canonical_model.model == "own"


def test_an_agent_without_any_model_uses_the_default() -> None:
    """Q18."""
    assert LlmAgent(name="a").canonical_model.model == LlmAgent.default_model


def test_a_model_name_is_resolved_once() -> None:
    agent = LlmAgent(name="a", model="gemini-2.5-pro")
    assert isinstance(agent.canonical_model, LLMRegistry.resolve("gemini-2.5-pro"))
    assert agent.canonical_model is agent.canonical_model
    assert agent.canonical_model.model == "gemini-2.5-pro"


def test_a_model_name_that_nobody_knows_is_refused_at_construction() -> None:
    """Q17."""
    with pytest.raises(ValueError, match="'no-such-model'"):
        LlmAgent(name="a", model="no-such-model")


def test_what_is_no_tool_is_refused_at_construction() -> None:
    with pytest.raises(ValueError, match="7"):
        LlmAgent(name="a", tools=[7])


async def test_tools_may_be_exchanged_later() -> None:
    """A2: for another list, in the list, or by one more."""

    def old() -> str:
        """Old."""
        return "old"

    def new() -> str:
        """New."""
        return "new"

    agent = LlmAgent(name="a", model=ScriptedModel(turns=["1", "2", "3", "4"]), tools=[old])
    conversation, offered = Conversation(agent), []
    for change in (
        lambda: None,
        lambda: setattr(agent, "tools", [new]),
        lambda: agent.tools.__setitem__(0, old),
        lambda: agent.tools.append(new),
    ):
        change()
        await conversation.say("go")
        offered.append(sorted(agent.model.requests[-1].tools_dict))
    assert offered == [["old"], ["new"], ["old"], ["new", "old"]]


@pytest.mark.parametrize(
    ("config", "remedy"),
    [
        (types.GenerateContentConfig(tools=[types.Tool()]), "tools"),
        (types.GenerateContentConfig(system_instruction="x"), "instruction"),
        (types.GenerateContentConfig(response_schema={"type": "OBJECT"}), "output_schema"),
    ],
)
def test_what_belongs_to_the_agent_is_refused_in_its_config(
    config: types.GenerateContentConfig, remedy: str
) -> None:
    """A2."""
    with pytest.raises(ValueError, match=f"Set .*{remedy}"):
        LlmAgent(name="a", generate_content_config=config)
