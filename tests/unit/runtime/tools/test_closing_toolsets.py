"""Spec T9: toolsets hold connections and processes, which are released when the Runner is closed."""

from __future__ import annotations

import pytest

from runtime.agents import LlmAgent, SequentialAgent
from runtime.context import ReadonlyContext
from runtime.errors import PluginError, ToolsetError
from runtime.plugins import BasePlugin
from runtime.runners import InMemoryRunner
from runtime.tools import AgentTool, BaseTool, BaseToolset


class Line(BaseToolset):
    """A connection that is open until it is closed."""

    def __init__(self, name: str, closed: list[str]) -> None:
        super().__init__()
        self.name = name
        self.closed = closed

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        return []

    async def close(self) -> None:
        self.closed.append(self.name)


class Broken(Line):
    async def close(self) -> None:
        await super().close()
        raise OSError(f"{self.name} is stuck")


class Plain(Line):
    def close(self) -> None:
        self.closed.append(self.name)


class Plugin(BasePlugin):
    """Closes last; fails when it is told so."""

    def __init__(self, closed: list[str], *, fails: bool = False) -> None:
        super().__init__("plugin")
        self.closed = closed
        self.fails = fails

    async def close(self) -> None:
        self.closed.append(self.name)
        if self.fails:
            raise OSError("no")


async def test_those_of_the_whole_tree_are_closed_once_each_and_then_the_plugins() -> None:
    """Agents that run as tools have toolsets, too; one toolset may serve two agents."""
    closed: list[str] = []
    shared = Line("shared", closed)
    deep = LlmAgent(name="deep", tools=[Line("deep", closed)])
    expert = LlmAgent(name="expert", tools=[Plain("expert", closed), AgentTool(deep)])
    first = LlmAgent(name="first", tools=[shared, AgentTool(expert)])
    second = LlmAgent(name="second", tools=[Line("own", closed), shared, AgentTool(expert)])
    root = SequentialAgent(name="steps", sub_agents=[first, second])
    await InMemoryRunner(root, plugins=[Plugin(closed)]).close()
    assert sorted(closed[:-1]) == ["deep", "expert", "own", "shared"]
    assert closed[-1] == "plugin"


async def test_one_that_fails_keeps_no_other_from_being_closed_and_is_named() -> None:
    closed: list[str] = []
    toolsets = [Broken("one", closed), Line("two", closed), Broken("three", closed)]
    runner = InMemoryRunner(LlmAgent(name="clerk", tools=toolsets), plugins=[Plugin(closed)])
    with pytest.raises(ToolsetError, match=r"Broken: one is stuck; Broken: three is stuck"):
        await runner.close()
    assert closed == ["one", "two", "three", "plugin"]


async def test_when_toolsets_and_plugins_fail_both_are_told() -> None:
    closed: list[str] = []
    agent = LlmAgent(name="clerk", tools=[Broken("one", closed)])
    with pytest.raises(PluginError, match="'plugin'") as error:
        await InMemoryRunner(agent, plugins=[Plugin(closed, fails=True)]).close()
    assert isinstance(error.value.__context__, ToolsetError)
