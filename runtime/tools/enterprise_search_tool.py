"""The tool `enterprise_web_search`: a web search for regulated companies, by Gemini on Vertex AI (contract T9)."""

from runtime import types
from runtime.tools.base_tool import ModelSideTool


class EnterpriseWebSearchTool(ModelSideTool):
    """Lets Gemini search an index of the web without logging the person's data."""

    def __init__(self) -> None:
        super().__init__(
            name="enterprise_web_search",
            description="Searches the web.",
            tool=types.Tool(enterprise_web_search=types.EnterpriseWebSearch()),
        )


enterprise_web_search_tool = EnterpriseWebSearchTool()
