"""Tools executed by the model's provider: enabled in the request, never called by the runtime (contract T9)."""

from runtime import types
from runtime.models.llm_request import LlmRequest
from runtime.tools.base_tool import BaseTool
from runtime.tools.tool_context import ToolContext


class ModelSideTool(BaseTool):
    """Adds an entry to the request's tools, apart from the function declarations (contract Q13)."""

    def __init__(self, *, name: str, description: str, tool: types.Tool) -> None:
        super().__init__(name=name, description=description)
        self._tool = tool

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        tools = llm_request.config.tools or []
        # A copy: callbacks may edit the request, and the tool object is shared by all sessions.
        llm_request.config.tools = [*tools, self._tool.model_copy()]
