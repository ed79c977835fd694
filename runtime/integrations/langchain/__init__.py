"""Tools of LangChain."""

from runtime.tools.langchain_tool import LangchainTool

__all__ = ["LangchainTool"]
