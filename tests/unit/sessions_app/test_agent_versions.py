"""Versions of apps: the same in each process, another after each change of an agent."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent, SequentialAgent
from runtime.apps import App
from runtime.errors import ConfigurationError
from runtime.tools import AgentTool, FunctionTool
from runtime.workflow import Workflow
from sessions_app.agent_apps.loading.versions import label_of, version_of


def look_up(order_id: str) -> str:
    """Look up an order."""
    return order_id


def refund(order_id: str) -> str:
    """Refund an order."""
    return order_id


def say_so(context: Any) -> str:
    return "Say so."


def make_app(**changed: Any) -> App:
    fields: dict[str, Any] = {
        "model": "gemini-2.5-flash",
        "instruction": "Help.",
        "tools": [look_up, AgentTool(LlmAgent(name="searcher", instruction="Search."))],
        "sub_agents": [LlmAgent(name="clerk", description="Refunds.")],
    }
    return App(name="shop", root_agent=LlmAgent(name="desk", **{**fields, **changed}))


def test_a_version_is_the_same_in_each_process() -> None:
    # Recorded by an earlier process. Whoever changes the description changes the versions of all sites' agents.
    assert version_of(make_app()) == "shop@90fe0b7e5dfd"
    assert version_of(make_app(), "1.4") == "shop:1.4@90fe0b7e5dfd"


@pytest.mark.parametrize(
    "changed",
    [
        {"instruction": "Help more."},
        {"instruction": say_so},
        {"model": "gemini-2.5-pro"},
        {"description": "A desk."},
        {"generate_content_config": types.GenerateContentConfig(temperature=0.1)},
        {"tools": [look_up]},
        {"tools": [refund]},
        {"tools": [FunctionTool(look_up)]},
        {"tools": [look_up, AgentTool(LlmAgent(name="searcher", instruction="Search well."))]},
        {"sub_agents": []},
        {"sub_agents": [LlmAgent(name="clerk", description="Refunds and more.")]},
        {"sub_agents": [SequentialAgent(name="clerk", description="Refunds.")]},
        {"output_schema": list[int]},
        {"output_key": "answer"},
    ],
    ids="-".join,
)
def test_each_change_of_an_agent_is_another_version(changed: dict[str, Any]) -> None:
    assert version_of(make_app(**changed)) != version_of(make_app())


def test_a_workflow_has_the_version_of_its_graph() -> None:
    def version(*chain: Any) -> str:
        return version_of(App(name="shop", root_agent=Workflow(name="desk", edges=[("START", *chain)])))

    assert version(say_so) == version(say_so) != version(say_so, refund)


def test_a_label_that_is_no_short_word_is_refused_with_a_sentence() -> None:
    module = ModuleType("shop.agents")
    assert label_of(module) == ""
    for label in ("a b", "1@2", "x" * 41, 1.4):
        module.agent_version = label  # type: ignore[attr-defined]
        with pytest.raises(ConfigurationError, match=r"shop.agents: agent_version must be at most 40"):
            label_of(module)
