"""Function response for the result of an MCP tool; images and other files become artifacts."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from typing import Any

from mcp.types import CallToolResult

from runtime import types
from runtime.context import Context

Block = dict[str, Any]


async def response_of(result: CallToolResult, tool_name: str, tool_context: Context) -> dict[str, Any]:
    """Return the result as the model reads it: `content`, `structuredContent` and `isError`.

    A block with binary data has the name of an artifact as `file` in place of the data. Without an artifact service
    the data stay in the block, in base64.
    """
    response: dict[str, Any] = result.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={"meta", "result_type"}
    )
    if tool_context.invocation.artifact_service is not None:
        prefix = f"{tool_name}-{(tool_context.function_call_id or '')[-8:]}"
        for number, block in enumerate(response["content"], 1):
            await _save_data(block, f"{prefix}-{number}", tool_context)
    return response


def image_files(response: dict[str, Any]) -> list[str]:
    """Return the names of the artifacts that are images, of a response that `response_of` made."""
    content = response.get("content")
    blocks = content if isinstance(content, list) else []
    return [block["file"] for block in blocks if block.get("type") == "image" and "file" in block]


async def _save_data(block: Block, name: str, tool_context: Context) -> None:
    """Replace the binary data of a block by the name of an artifact."""
    holder, key = (block["resource"], "blob") if block.get("type") == "resource" else (block, "data")
    if key not in holder:
        return
    text = holder.pop(key)
    kind = holder.get("mimeType") or "application/octet-stream"
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        holder["error"] = "The server sent data that are not valid base64."
        return
    holder["file"] = f"{name}{mimetypes.guess_extension(kind) or '.bin'}"
    await tool_context.save_artifact(holder["file"], types.Part.from_bytes(data=data, mime_type=kind))
