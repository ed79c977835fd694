"""The tool `load_memory`: lets the model search the user's earlier sessions (contract T9, F3)."""

from runtime.memory.base_memory_service import SearchMemoryResponse
from runtime.models.llm_request import LlmRequest
from runtime.tools.function_tool import FunctionTool
from runtime.tools.tool_context import ToolContext

_INSTRUCTION = (
    "You can recall what was said in earlier sessions. When a question may need it, call `load_memory` with "
    "the words to look for."
)


async def load_memory(  # the docstring is sent to the model
    query: str, tool_context: ToolContext
) -> SearchMemoryResponse:
    """Search what the person said and heard in earlier sessions.

    Args:
        query: The words to look for.
    """
    return await tool_context.search_memory(query)


class LoadMemoryTool(FunctionTool):
    """Declares `load_memory` and adds an instruction on when to call it."""

    def __init__(self) -> None:
        super().__init__(load_memory, title="Look in earlier chats for “{query}”")

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        llm_request.append_instructions([_INSTRUCTION])


load_memory_tool = LoadMemoryTool()
