"""The tool `load_mcp_resource`: lets a model read the resources of an MCP server by name."""

import base64
import binascii
import json
import logging
from typing import Any

from mcp import MCPError
from mcp.types import Resource, TextResourceContents

from runtime import types
from runtime.context import Context
from runtime.models.llm_request import LlmRequest
from runtime.tools.function_tool import FunctionTool
from runtime.tools.mcp_tool.connection import McpConnectionError
from runtime.tools.mcp_tool.server import McpServer, ResourceContents
from runtime.tools.openapi_tool.http_exchange import ExchangeError

logger = logging.getLogger(__name__)
READ_ERRORS = (McpConnectionError, ExchangeError, MCPError)
"""Errors of a server that is lost, cannot be reached, or refuses a request."""


async def load_mcp_resource(resource_names: list[str]) -> dict[str, Any]:
    """Load resources of the MCP server by their names, to read them.

    Args:
        resource_names: The names of the resources.
    """
    return {"resource_names": resource_names, "status": "The contents are in the next message only."}


class LoadMcpResourceTool(FunctionTool):
    """Lists the resources in every request, and adds the resources named by the latest call.

    The contents of a resource are part of one request only and never stored in the session's events.
    """

    can_run_in_job = False

    def __init__(self, server: McpServer) -> None:
        super().__init__(load_mcp_resource)
        self._server = server

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        try:
            resources = await self._server.list_resources(tool_context)
        except READ_ERRORS as error:
            # The server was there when its tools were listed. The model can answer without it.
            logger.warning(
                "The resources of the MCP server %r cannot be listed: %s", self._server.name, error
            )
            llm_request.append_instructions([f"The resources of the MCP server cannot be listed: {error}"])
            return
        if not resources:
            return
        names = json.dumps([resource.name for resource in resources], ensure_ascii=False)
        llm_request.append_instructions(
            [
                f"The MCP server has these resources: {names}. To read them, call `{self.name}` with their names."
            ]
        )
        # Of a name that the server uses again, the first counts, as in `find_resource`.
        by_name = {resource.name: resource for resource in reversed(resources)}
        # Only the latest call: resources of earlier calls would make every further request larger.
        for response in llm_request.latest_responses(self.name):
            for name in response.get("resource_names", []):
                llm_request.contents.append(await self._read_content(name, by_name.get(name), tool_context))

    async def _read_content(
        self, name: str, resource: Resource | None, tool_context: Context
    ) -> types.Content:
        if resource is None:
            return types.UserContent(f"The MCP server has no resource {name!r}.")
        try:
            contents = await self._server.read_resource(resource, tool_context)
        except (*READ_ERRORS, ValueError) as error:
            return types.UserContent(f"The resource {name!r} cannot be read: {error}")
        return types.UserContent([types.Part(text=f"The resource {name!r}:"), *map(_part_of, contents)])


def _part_of(contents: ResourceContents) -> types.Part:
    if isinstance(contents, TextResourceContents):
        return types.Part(text=contents.text)
    kind = contents.mime_type or "application/octet-stream"
    try:
        return types.Part.from_bytes(data=base64.b64decode(contents.blob, validate=True), mime_type=kind)
    except binascii.Error:
        return types.Part(text="(The server sent data that are not valid base64.)")
