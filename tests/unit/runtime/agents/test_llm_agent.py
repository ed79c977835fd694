"""Configuration of an LLM agent (contract A2, Q17, Q18)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime import types
from runtime.agents import Agent, BaseAgent, LlmAgent
from runtime.agents.readonly_context import ReadonlyContext
from runtime.errors import ConfigurationError
from runtime.models.registry import LLMRegistry
from runtime.tools import BaseTool, FunctionTool
from runtime.tools.base_toolset import BaseToolset
from tests.fakes import ScriptedModel
from tests.unit.runtime.conversation import Conversation
from tests.unit.runtime.test_contexts_made_by_hand import invocation


def test_agent_is_an_alias_of_llm_agent() -> None:
    """Contract A2."""
    assert Agent is LlmAgent


def test_the_model_is_inherited_from_the_nearest_ancestor_that_has_one() -> None:
    """Contract A2."""
    near, far = ScriptedModel(model="near"), ScriptedModel(model="far")
    leaf, own = LlmAgent(name="leaf"), LlmAgent(name="own", model=ScriptedModel(model="own"))
    plain = BaseAgent(name="plain", sub_agents=[leaf, own])
    LlmAgent(name="root", model=far, sub_agents=[LlmAgent(name="middle", model=near, sub_agents=[plain])])
    assert leaf.canonical_model is near
    assert own.canonical_model.model == "own"


def test_an_agent_without_any_model_uses_the_default() -> None:
    """Contract Q18."""
    assert LlmAgent(name="a").canonical_model.model == LlmAgent.default_model


def test_a_model_name_is_resolved_once() -> None:
    agent = LlmAgent(name="a", model="gemini-2.5-pro")
    assert isinstance(agent.canonical_model, LLMRegistry.resolve("gemini-2.5-pro"))
    assert agent.canonical_model is agent.canonical_model
    assert agent.canonical_model.model == "gemini-2.5-pro"


async def test_an_unknown_model_name_is_an_error_of_the_first_call() -> None:
    """Contract Q17."""
    agent = LlmAgent(name="a", model="no-such-model")
    [problem] = agent.canonical_model.setup_problems()
    assert "'no-such-model'" in problem.problem
    with pytest.raises(ValueError, match=r"'no-such-model'.*gemini"):
        await Conversation(agent).say("go")


def test_a_class_for_a_model_name_may_be_registered_after_the_agent_is_made() -> None:
    agent = LlmAgent(name="a", model="late-1")
    assert agent.canonical_model.setup_problems()

    class LateModel(ScriptedModel):
        @classmethod
        def supported_models(cls) -> list[str]:
            return [r"late-\d"]

    LLMRegistry.register(LateModel)
    assert isinstance(agent.canonical_model, LateModel)


def test_an_object_that_is_not_a_tool_is_refused_at_construction() -> None:
    with pytest.raises(
        ValueError, match="Agent 'a': 7 is not a tool: give a function, a BaseTool or a BaseToolset"
    ):
        LlmAgent.model_validate({"name": "a", "tools": [print, 7]})


def test_an_agent_among_the_tools_is_refused_with_the_ways_to_offer_it() -> None:
    message = "Agent 'a': the agent 'b' is not a tool: give AgentTool.agent., or put it into sub_agents"
    with pytest.raises(ValueError, match=message):
        LlmAgent.model_validate({"name": "a", "tools": [LlmAgent(name="b")]})


async def test_tools_may_be_replaced_later() -> None:
    """The list may be replaced, an element replaced, or a tool appended (contract A2)."""

    def old() -> str:
        """Old."""
        return "old"

    def new() -> str:
        """New."""
        return "new"

    model = ScriptedModel(turns=["1", "2", "3", "4"])
    agent = LlmAgent(name="a", model=model, tools=[old])
    conversation, offered = Conversation(agent), []
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: setattr(agent, "tools", [new]),
        lambda: agent.tools.__setitem__(0, old),
        lambda: agent.tools.append(new),
    ]
    for change in changes:
        change()
        await conversation.say("go")
        offered.append(sorted(model.requests[-1].tools_dict))
    assert offered == [["old"], ["new"], ["old"], ["new", "old"]]


@pytest.mark.parametrize(
    ("config", "remedy"),
    [
        (types.GenerateContentConfig(tools=[types.Tool()]), "tools"),
        (types.GenerateContentConfig(system_instruction="x"), "instruction"),
        (types.GenerateContentConfig(response_schema={"type": "OBJECT"}), "output_schema"),
    ],
)
def test_settings_of_the_agent_are_refused_in_its_config(
    config: types.GenerateContentConfig, remedy: str
) -> None:
    """Contract A2."""
    with pytest.raises(ValueError, match=f"must be set via LlmAgent.{remedy}"):
        LlmAgent(name="a", generate_content_config=config)


def test_the_default_model_can_be_a_model_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contract Q18."""
    monkeypatch.setattr(LlmAgent, "default_model", LlmAgent.default_model)
    model = ScriptedModel(model="own")
    LlmAgent.set_default_model(model)
    assert LlmAgent(name="a").canonical_model is model
    with pytest.raises(ConfigurationError, match="name"):
        LlmAgent.set_default_model("")


async def test_canonical_members_are_those_of_google_adk() -> None:
    """Instructions with their origin, tools with those of toolsets, callbacks as lists (contract A2)."""

    def look_up(word: str) -> str:
        """Look a word up."""
        return word

    class Extra(BaseToolset):
        async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
            return [FunctionTool(say_hello)]

    def say_hello() -> str:
        """Greet."""
        return "Hello"

    async def provide(context: ReadonlyContext) -> str:
        return f"For {context.user_id}: {{kept}}"

    def after(**kwargs: object) -> None: ...

    agent = LlmAgent(
        name="a",
        instruction="Be {mood}.",
        global_instruction=provide,
        tools=[look_up, Extra()],
        before_model_callback=after,
        after_agent_callback=[after, after],
    )
    context = ReadonlyContext(await invocation())
    assert await agent.canonical_instruction(context) == ("Be {mood}.", False)
    assert await agent.canonical_global_instruction(context) == ("For ada: {kept}", True)
    assert [tool.name for tool in await agent.canonical_tools()] == ["look_up", "say_hello"]
    assert agent.canonical_before_model_callbacks == [after]
    assert agent.canonical_after_agent_callbacks == [after, after]
    assert agent.canonical_on_tool_error_callbacks == []
