"""Code that the model's provider runs (spec A2, E4)."""

from __future__ import annotations

from runtime import types
from runtime.code_executors.base_code_executor import BaseCodeExecutor
from runtime.models.llm_request import LlmRequest


class BuiltInCodeExecutor(BaseCodeExecutor):
    """Switches on Gemini's own code execution. Code and results come as parts of the model's response."""

    def process_llm_request(self, llm_request: LlmRequest) -> None:
        """Add the tool, apart from the function declarations (spec Q13)."""
        tools = llm_request.config.tools or []
        llm_request.config.tools = [*tools, types.Tool(code_execution=types.ToolCodeExecution())]
