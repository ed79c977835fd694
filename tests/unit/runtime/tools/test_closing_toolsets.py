"""Contract T9: closing a Runner closes the toolsets of all agents."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.agents import LlmAgent, SequentialAgent
from runtime.context import ReadonlyContext
from runtime.errors import PluginError, ToolsetError
from runtime.plugins import BasePlugin
from runtime.runners import InMemoryRunner
from runtime.tools import AgentTool, BaseTool, BaseToolset


class RecordingToolset(BaseToolset):
    """Records its name in `closed` when it is closed."""

    def __init__(self, name: str, closed: list[str]) -> None:
        super().__init__()
        self.name = name
        self.closed = closed

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        return []

    async def close(self) -> None:
        self.closed.append(self.name)


class Broken(RecordingToolset):
    async def close(self) -> None:
        await super().close()
        raise OSError(f"{self.name} is stuck")


# Built at run time because type checkers refuse to override an async method with a sync one.
SyncToolset: Any = type(
    "SyncToolset", (RecordingToolset,), {"close": lambda self: self.closed.append(self.name)}
)


class Plugin(BasePlugin):
    """Records when it is closed, and then fails if `fails` is set."""

    def __init__(self, closed: list[str], *, fails: bool = False) -> None:
        super().__init__("plugin")
        self.closed = closed
        self.fails = fails

    async def close(self) -> None:
        self.closed.append(self.name)
        if self.fails:
            raise OSError("no")


async def test_all_toolsets_of_the_tree_are_closed_once_and_then_the_plugins() -> None:
    """The tree includes agents that run as tools; a toolset may be shared by two agents."""
    closed: list[str] = []
    shared = RecordingToolset("shared", closed)
    deep = LlmAgent(name="deep", tools=[RecordingToolset("deep", closed)])
    expert = LlmAgent(name="expert", tools=[SyncToolset("expert", closed), AgentTool(deep)])
    first = LlmAgent(name="first", tools=[shared, AgentTool(expert)])
    second = LlmAgent(name="second", tools=[RecordingToolset("own", closed), shared, AgentTool(expert)])
    root = SequentialAgent(name="steps", sub_agents=[first, second])
    await InMemoryRunner(root, plugins=[Plugin(closed)]).close()
    assert sorted(closed[:-1]) == ["deep", "expert", "own", "shared"]
    assert closed[-1] == "plugin"


async def test_all_toolsets_are_closed_when_some_fail_and_the_error_names_those() -> None:
    closed: list[str] = []
    toolsets = [Broken("one", closed), RecordingToolset("two", closed), Broken("three", closed)]
    runner = InMemoryRunner(LlmAgent(name="clerk", tools=toolsets), plugins=[Plugin(closed)])
    with pytest.raises(ToolsetError, match=r"Broken: one is stuck; Broken: three is stuck"):
        await runner.close()
    assert closed == ["one", "two", "three", "plugin"]


async def test_failures_of_toolsets_and_plugins_are_both_reported() -> None:
    closed: list[str] = []
    agent = LlmAgent(name="clerk", tools=[Broken("one", closed)])
    with pytest.raises(PluginError, match="'plugin'") as error:
        await InMemoryRunner(agent, plugins=[Plugin(closed, fails=True)]).close()
    assert isinstance(error.value.__context__, ToolsetError)
