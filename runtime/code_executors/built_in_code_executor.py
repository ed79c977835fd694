"""Code execution by the model's provider (contract A2, E4)."""

from collections.abc import Sequence

from runtime import types
from runtime.code_executors.base_code_executor import BaseCodeExecutor
from runtime.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult
from runtime.context import InvocationContext
from runtime.models.llm_request import LlmRequest


class BuiltInCodeExecutor(BaseCodeExecutor):
    """Enable Gemini's own code execution. Code and results are parts of the model's response."""

    def process_llm_request(self, llm_request: LlmRequest) -> None:
        """Add the code execution tool as a separate entry, apart from the function declarations (contract Q13)."""
        tools = llm_request.config.tools or []
        llm_request.config.tools = [*tools, types.Tool(code_execution=types.ToolCodeExecution())]

    def split_at_code(self, parts: Sequence[types.Part]) -> None:
        """Return None: the provider has already run the code."""

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Raise, as the provider runs the code.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("Gemini runs this code itself; the runtime cannot.")
