"""Contract T9: tools of LangChain and CrewAI, as their frameworks define them."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from pydantic import BaseModel, Field

from runtime import callbacks
from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.tools.crewai_tool import CrewaiTool
from runtime.tools.langchain_tool import LangchainTool
from runtime.tools.tool_threads import run_in_tool_thread


class Search(BaseModel):
    """Arguments of the tools."""

    query: str = Field(description="What to look for.")
    limit: int = 3


class Shaped:
    """Tool with the attributes and methods of a `langchain_core.tools.BaseTool`."""

    name = "search"
    description = "Searches."
    args_schema = Search
    return_direct = False
    threads: list[str] = []

    def invoke(self, input: dict[str, Any]) -> str:
        self.threads.append(threading.current_thread().name)
        return f"{input['query']} x{input.get('limit', 3)}"

    def run(self, tool_input: str) -> str:
        raise AssertionError("`invoke` takes the arguments by name")


class Asynchronous(Shaped):
    coroutine = True

    async def ainvoke(self, input: dict[str, Any]) -> str:
        return f"awaited {input['query']}"


class Crew:
    """Tool with the attributes and methods of a `crewai.tools.BaseTool`."""

    name = "Search The Web"
    description = "Searches."
    args_schema = Search

    def run(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return kwargs


async def test_a_langchain_tool_is_declared_and_invoked_in_a_tool_thread(context: Context) -> None:
    tool = LangchainTool(Shaped())
    declaration = tool._get_declaration()
    assert (declaration.name, declaration.description) == ("search", "Searches.")
    schema = declaration.parameters_json_schema
    assert isinstance(schema, dict) and schema["required"] == ["query"]
    assert schema["properties"]["query"]["description"] == "What to look for."
    assert await tool.run_async(args={"query": "lamp", "limit": 1}, tool_context=context) == "lamp x1"
    assert Shaped.threads[-1].startswith("adk tool")
    assert not context.actions.skip_summarization


async def test_a_langchain_tool_with_a_coroutine_is_awaited(context: Context) -> None:
    assert (
        await LangchainTool(Asynchronous()).run_async(args={"query": "a"}, tool_context=context)
        == "awaited a"
    )


async def test_return_direct_ends_the_turn_after_a_result_but_not_after_wrong_arguments(
    context: Context,
) -> None:
    class Direct(Shaped):
        return_direct = True

    tool = LangchainTool(Direct(), name="direct", description="Own words.")
    assert (tool.name, tool.description) == ("direct", "Own words.")
    result = await tool.run_async(args={"limit": "many"}, tool_context=context)
    assert "query" in result["error"] and "limit" in result["error"]
    assert not context.actions.skip_summarization
    await tool.run_async(args={"query": "a"}, tool_context=context)
    assert context.actions.skip_summarization


async def test_an_object_with_a_method_run_is_a_tool(context: Context) -> None:
    class Plain:
        def run(self, city: str) -> str:
            """Look the weather up."""
            return f"sunny in {city}"

    tool = LangchainTool(Plain(), name="weather")
    declaration = tool._get_declaration()
    assert (declaration.name, declaration.description) == ("weather", "Look the weather up.")
    assert await tool.run_async(args={"city": "Bern"}, tool_context=context) == "sunny in Bern"


def test_an_object_that_cannot_run_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no method `run`"):
        LangchainTool(object())


async def test_a_crewai_tool_gets_a_callable_name_and_its_arguments_as_keywords(context: Context) -> None:
    tool = CrewaiTool(Crew(), name="")
    assert tool._get_declaration().name == "search_the_web"
    assert await tool.run_async(args={"query": "a"}, tool_context=context) == {"query": "a"}
    assert "query" in (await tool.run_async(args={}, tool_context=context))["error"]
    assert CrewaiTool(Crew(), name="find", description="Finds.").description == "Finds."


async def test_tools_made_by_langchain_itself_are_called(context: Context) -> None:
    tools = pytest.importorskip("langchain_core.tools")

    def multiply(a: int, b: int) -> int:
        """Multiply two numbers."""
        return a * b

    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    for given, result in ((tools.tool(multiply), 6), (tools.tool(add), 5)):
        wrapped = LangchainTool(given)
        schema = wrapped._get_declaration().parameters_json_schema
        assert isinstance(schema, dict) and set(schema["properties"]) == {"a", "b"}
        assert await wrapped.run_async(args={"a": 2, "b": 3}, tool_context=context) == result


async def test_an_argument_may_be_called_function() -> None:
    """Schemas of others name their arguments as they like."""
    assert await run_in_tool_thread(lambda **given: given, function="f") == {"function": "f"}
    assert await callbacks.call(lambda **given: given, function="f") == {"function": "f"}
