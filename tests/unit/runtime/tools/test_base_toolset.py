"""Contract Q14, T9: a toolset's filter and prefix."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.context import Context, ReadonlyContext
from runtime.tools import BaseTool, BaseToolset, FunctionTool


def search(query: str) -> str:
    """Search."""
    return f"found {query}"


class HandMade(BaseTool):
    """Builds its declaration from a fixed name, as tools of external servers do."""

    def __init__(self) -> None:
        super().__init__(name="ping", description="Ping.")

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name="ping", description="Ping.")

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        return self.name


class Shop(BaseToolset):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tools = [FunctionTool(search), HandMade()]

    @property
    def known_tools(self) -> list[BaseTool]:
        return self.tools

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        return self.tools


def declared_names(tools: list[BaseTool]) -> list[str | None]:
    return [declaration.name for tool in tools if (declaration := tool._get_declaration())]


@pytest.mark.parametrize("prefix", [None, ""])
async def test_without_a_prefix_the_toolsets_own_tools_are_returned(prefix: str | None) -> None:
    shop = Shop(tool_name_prefix=prefix)
    assert await shop.get_tools_with_prefix() == shop.tools


async def test_prefixed_tools_are_copies_with_a_prefixed_name_and_declaration(context: Context) -> None:
    shop = Shop(tool_name_prefix="shop")
    found, ping = await shop.get_tools_with_prefix(context)
    assert [found.name, ping.name] == ["shop_search", "shop_ping"]
    assert declared_names([found, ping]) == ["shop_search", "shop_ping"]
    assert [tool.name for tool in shop.tools] == ["search", "ping"]
    assert declared_names(shop.tools) == ["search", "ping"]
    assert isinstance(found, FunctionTool)
    assert await found.run_async(args={"query": "tea"}, tool_context=context) == "found tea"
    assert await ping.run_async(args={}, tool_context=context) == "shop_ping"


async def test_getting_the_tools_twice_does_not_prefix_twice() -> None:
    shop = Shop(tool_name_prefix="shop")
    await shop.get_tools_with_prefix()
    assert [tool.name for tool in await shop.get_tools_with_prefix()] == ["shop_search", "shop_ping"]


@pytest.mark.parametrize("prefix", ["", "shop"])
def test_a_known_tool_is_found_by_its_prefixed_name(prefix: str) -> None:
    shop = Shop(tool_name_prefix=prefix)
    found = shop.find_known_tool("_".join(filter(None, [prefix, "search"])))
    assert found and found.description == "Search."
    assert shop.find_known_tool("other_search") is None


async def test_a_list_filters_by_unprefixed_names() -> None:
    shop = Shop(tool_filter=["ping"], tool_name_prefix="shop")
    assert [tool.name for tool in await shop.get_tools_with_prefix()] == ["shop_ping"]
    assert await Shop(tool_filter=[]).get_tools_with_prefix() == []


async def test_a_predicate_filters_with_the_context(context: Context) -> None:
    def for_red(tool: BaseTool, readonly_context: ReadonlyContext | None = None) -> bool:
        return (
            tool.name == "ping" and readonly_context is not None and readonly_context.state["color"] == "red"
        )

    shop = Shop(tool_filter=for_red)
    assert [tool.name for tool in await shop.get_tools_with_prefix(context)] == ["ping"]
    assert await shop.get_tools_with_prefix() == []


async def test_a_predicate_follows_the_state_while_the_tools_are_asked_for_once(context: Context) -> None:
    def while_open(tool: BaseTool, readonly_context: ReadonlyContext | None = None) -> bool:
        return readonly_context is not None and "closed" not in readonly_context.state

    shop = Shop(tool_filter=while_open)
    assert len(await shop.get_tools_with_prefix(context)) == 2
    shop.tools = []
    assert len(await shop.get_tools_with_prefix(context)) == 2
    context.state["closed"] = True
    assert await shop.get_tools_with_prefix(context) == []


async def test_the_default_close_does_nothing() -> None:
    shop = Shop()
    await shop.close()
    assert await shop.get_tools_with_prefix() == shop.tools
