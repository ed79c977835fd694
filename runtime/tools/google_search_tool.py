"""The tool `google_search`, executed by Gemini (contract T9)."""

from runtime import types
from runtime.models.llm_request import LlmRequest
from runtime.tools.base_tool import ModelSideTool
from runtime.tools.tool_context import ToolContext


class GoogleSearchTool(ModelSideTool):
    """Lets Gemini search the web while it answers.

    Args:
        bypass_multi_tools_limit: True to search in a separate agent if the agent has other tools: Gemini before 3
            refuses the search together with functions.
        model: name of the model that answers in place of the agent's, for requests with this tool.
    """

    def __init__(self, *, bypass_multi_tools_limit: bool = False, model: str | None = None) -> None:
        super().__init__(
            name="google_search",
            description="Searches the web.",
            tool=types.Tool(google_search=types.GoogleSearch()),
        )
        self.bypass_multi_tools_limit = bypass_multi_tools_limit
        self.model = model

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        if self.model:
            llm_request.model = self.model
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)


google_search = GoogleSearchTool()
