"""The tool `google_search`, executed by Gemini (contract T9)."""

from __future__ import annotations

from runtime import types
from runtime.tools.model_side_tool import ModelSideTool


class GoogleSearchTool(ModelSideTool):
    """Lets Gemini search the web while it answers."""

    def __init__(self) -> None:
        super().__init__(
            name="google_search",
            description="Searches the web.",
            tool=types.Tool(google_search=types.GoogleSearch()),
        )


google_search = GoogleSearchTool()
