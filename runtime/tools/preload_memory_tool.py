"""Recalling earlier sessions without being asked (spec T9, F3)."""

from __future__ import annotations

from runtime.memory.memory_entry import MemoryEntry
from runtime.models.llm_request import LlmRequest
from runtime.tools.base_tool import BaseTool
from runtime.tools.tool_context import ToolContext

_HEADING = "From earlier sessions with this person; use it where it helps:"


class PreloadMemoryTool(BaseTool):
    """Puts what earlier sessions say about the person's message into the instruction.

    The model never calls it. Without a memory service it does nothing.
    """

    def __init__(self) -> None:
        super().__init__(
            name="preload_memory", description="Recalls earlier sessions before each model call."
        )

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Search with the text of the person's message, and add what is found."""
        query = _text_of(tool_context)
        if not query or tool_context.invocation.memory_service is None:
            return
        found = await tool_context.search_memory(query)
        lines = [line for entry in found.memories if (line := _line(entry))]
        if lines:
            llm_request.append_instructions(["\n".join([_HEADING, *lines])])


def _text_of(tool_context: ToolContext) -> str:
    content = tool_context.user_content
    return " ".join(part.text for part in (content.parts or []) if part.text) if content else ""


def _line(entry: MemoryEntry) -> str:
    text = " ".join(part.text for part in entry.content.parts or [] if part.text)
    said = f"{entry.author}: {text}" if entry.author else text
    return text and (f"[{entry.timestamp}] {said}" if entry.timestamp else said)


preload_memory_tool = PreloadMemoryTool()
