"""Spec Q14, T9: a toolset's filter and prefix."""

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
    """Declares a name of its own, as tools of other servers do."""

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

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        return self.tools


@pytest.mark.parametrize("prefix", [None, ""])
async def test_without_a_prefix_the_tools_are_the_toolsets_own(prefix: str | None) -> None:
    shop = Shop(tool_name_prefix=prefix)
    assert await shop.get_tools_with_prefix() == shop.tools


async def test_a_prefix_makes_copies_whose_declaration_has_the_prefixed_name(context: Context) -> None:
    shop = Shop(tool_name_prefix="shop")
    found, ping = await shop.get_tools_with_prefix(context)
    assert [found.name, ping.name] == ["shop_search", "shop_ping"]
    assert [tool._get_declaration().name for tool in (found, ping)] == ["shop_search", "shop_ping"]
    assert [tool.name for tool in shop.tools] == ["search", "ping"]
    assert [tool._get_declaration().name for tool in shop.tools] == ["search", "ping"]
    assert isinstance(found, FunctionTool)
    assert await found.run_async(args={"query": "tea"}, tool_context=context) == "found tea"
    assert await ping.run_async(args={}, tool_context=context) == "shop_ping"


async def test_asking_twice_does_not_prefix_twice() -> None:
    shop = Shop(tool_name_prefix="shop")
    await shop.get_tools_with_prefix()
    assert [tool.name for tool in await shop.get_tools_with_prefix()] == ["shop_search", "shop_ping"]


async def test_a_list_filters_by_the_names_without_prefix() -> None:
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


async def test_a_toolset_that_holds_nothing_open_can_be_closed() -> None:
    shop = Shop()
    await shop.close()
    assert await shop.get_tools_with_prefix() == shop.tools
