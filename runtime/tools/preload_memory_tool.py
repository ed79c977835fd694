"""The tool `preload_memory`: adds memory entries to every request (contract T9, F3)."""

from runtime import types
from runtime.events.message import joined_text
from runtime.memory.memory_entry import MemoryEntry
from runtime.models.llm_request import LlmRequest
from runtime.models.request_contents import insert_before_message
from runtime.tools.base_tool import BaseTool
from runtime.tools.tool_context import ToolContext

_HEADING = "From earlier sessions with this person; use it where it helps:"


class PreloadMemoryTool(BaseTool):
    """Searches memory for the person's message and inserts the entries found before the message.

    The model never calls this tool. Without a memory service the tool does nothing.
    """

    def __init__(self) -> None:
        super().__init__(
            name="preload_memory", description="Recalls earlier sessions before each model call."
        )

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        query = joined_text(tool_context.user_content)
        if not query or tool_context.invocation.memory_service is None:
            return
        found = await tool_context.search_memory(query)
        lines = list(filter(None, map(_format_entry, found.memories)))
        if lines:
            text = types.Part(text="\n".join([_HEADING, *lines]))
            recalled = types.Content(role="user", parts=[text])
            llm_request.contents = insert_before_message(llm_request.contents, recalled)


def _format_entry(entry: MemoryEntry) -> str:
    text = joined_text(entry.content)
    if not text:
        return ""
    if entry.author:
        text = f"{entry.author}: {text}"
    return f"[{entry.timestamp}] {text}" if entry.timestamp else text


preload_memory_tool = PreloadMemoryTool()
