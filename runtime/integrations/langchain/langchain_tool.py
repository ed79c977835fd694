"""Public path; defined in `runtime.tools.langchain_tool`."""

from runtime.tools.langchain_tool import LangchainTool

__all__ = ["LangchainTool"]
