"""The tool `url_context`: reads web pages, executed by Gemini (contract T9)."""

from runtime import types
from runtime.tools.base_tool import ModelSideTool


class UrlContextTool(ModelSideTool):
    """Lets Gemini read the pages whose URLs are in the contents."""

    def __init__(self) -> None:
        super().__init__(
            name="url_context",
            description="Reads web pages.",
            tool=types.Tool(url_context=types.UrlContext()),
        )


url_context = UrlContextTool()
