"""Pytest plugin: fixtures `scripted_model` and `run_agent`, and readable differences between events and matchers."""

import asyncio
from collections.abc import Iterator

import pytest

from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.agents.tree import walk_trees
from runtime.apps.app import App
from runtime.testing.agent_runner import AgentRunner
from runtime.testing.matchers import EventMatcher, outline
from runtime.testing.scripted_model import ScriptedModel, ScriptModel, Turn


@pytest.fixture
def scripted_model(monkeypatch: pytest.MonkeyPatch) -> ScriptModel:
    """Return a function that sets a scripted model for all agents of a tree, until the test ends."""

    def script(agent: BaseAgent | App, *turns: Turn) -> ScriptedModel:
        model = ScriptedModel(turns=list(turns))
        root = agent.root_agent if isinstance(agent, App) else agent
        for member in walk_trees(root):
            if isinstance(member, LlmAgent):
                # Restored at the end of the test: agents are objects of modules, shared by all tests.
                monkeypatch.setattr(member, "model", model)
        return model

    return script


@pytest.fixture
def run_agent() -> Iterator[AgentRunner]:
    """Return an `AgentRunner`: `run_agent(agent, "message")` returns the events."""
    # One loop for the whole test: connections of models and toolsets work only in the loop that opened them.
    with asyncio.Runner() as loop:
        runner = AgentRunner(loop)
        yield runner
        loop.run(runner.close())


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain a failed comparison of events with matchers by an outline of both."""
    if op != "==" or not isinstance(left, list) or not isinstance(right, list):
        return None
    if not any(isinstance(item, EventMatcher) for item in (*left, *right)):
        return None
    return [
        "the events are not those that were expected",
        *(f"found:    {outline(item)}" for item in left),
        *(f"expected: {outline(item)}" for item in right),
    ]
