"""The agent `outside`: its model and tools are in other processes. Each job waits until the service answers."""

from __future__ import annotations

import os
from typing import Any
from urllib.request import urlopen

from runtime.agents import LlmAgent
from runtime.models import OpenAICompatible
from runtime.tools import BaseTool, FunctionTool, ToolContext
from runtime.tools.mcp_tool import McpToolset
from runtime.tools.openapi_tool import OpenAPIToolset
from sessions_app.jobs import as_job, job_tool
from tests.browser.outside.service import HELD, ORDERS, api
from tests.mcp_process import stdio_params

SERVICE = os.environ["OUTSIDE_SERVICE"]


@job_tool
def count_stock() -> str:
    """Count the stock."""
    with urlopen(SERVICE + HELD) as answer:
        counted: str = answer.read().decode()
    return counted


def refund(amount: int) -> str:
    """Pay money back."""
    with urlopen(f"{SERVICE}{ORDERS}?refund={amount}", data=b"") as answer:
        paid: str = answer.read().decode()
    return paid


def confirm_orders(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any] | None:
    """Have a person confirm orders: a document of OpenAPI does not say which operations need that."""
    if tool.name != "api_place_order":
        return None
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Place this order?")
        return {"status": "A person is asked."}
    return None if tool_context.tool_confirmation.confirmed else {"error": "The person declined."}


def mcp(names: list[str], **options: Any) -> McpToolset:
    return McpToolset(connection_params=stdio_params(), tool_name_prefix="mcp", tool_filter=names, **options)


def service(names: list[str]) -> OpenAPIToolset:
    return OpenAPIToolset(
        spec_dict=api(SERVICE),
        tool_name_prefix="api",
        tool_filter=names,
        allow_private_network_access=True,
        timeout=300,
    )


root_agent = LlmAgent(
    name="outside",
    model=OpenAICompatible(model="gpt-test", api_key="test", base_url=f"{os.environ['OUTSIDE_MODEL']}/v1"),
    before_tool_callback=confirm_orders,
    tools=[
        count_stock,
        FunctionTool(refund, require_confirmation=True),
        mcp(["send"], require_confirmation=True),
        as_job(mcp(["fetch"])),
        service(["place_order"]),
        as_job(service(["count_orders"])),
    ],
)
