"""The contract of a code executor (contract A2, T12).

The engine cuts a model's answer after its first code block, runs the block, adds the output as an event, and calls the
model again. Subclasses choose where the code runs; `execute_code` may block, so it is called in a thread.
"""

import abc
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict

from runtime import types
from runtime._tasks import call_in_executor
from runtime.code_executors.code_blocks import code_as_text, split_at_code
from runtime.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult
from runtime.context import InvocationContext
from runtime.models.llm_request import LlmRequest

# A separate pool: code that runs for minutes must not hold up tools or name resolution.
_threads = ThreadPoolExecutor(16, "adk code")


class BaseCodeExecutor(BaseModel, abc.ABC):
    """Run the first code block of a model's answer; the model is called again with the result (contract E4).

    Attributes:
        stateful: True if variables are kept between the blocks of a session. Such an executor gets an `execution_id`.
        error_retry_attempts: number of successive failures after which an invocation runs no more code.
        code_block_delimiters: begin and end of a code block, for each notation.
        execution_result_delimiters: begin and end of a result, as the model reads it.
        timeout_seconds: maximum running time of a block.
    """

    model_config = ConfigDict(extra="forbid")

    stateful: bool = False
    error_retry_attempts: int = 2
    code_block_delimiters: list[tuple[str, str]] = [("```tool_code\n", "\n```"), ("```python\n", "\n```")]
    execution_result_delimiters: tuple[str, str] = ("```tool_output\n", "\n```")
    timeout_seconds: float | None = None

    @abc.abstractmethod
    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Run the code and return its output. A failure of the code is a result with `stderr`."""

    async def execute_code_async(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Run `execute_code` in a thread. Override for an executor that can be cancelled."""
        return await in_code_thread(self.execute_code, invocation_context, code_execution_input)

    def process_llm_request(self, llm_request: LlmRequest) -> None:
        """Convert earlier code and results to text."""
        # The provider does not know that code can run.
        code = self.code_block_delimiters[0] if self.code_block_delimiters else ("", "")
        llm_request.contents = code_as_text(llm_request.contents, code, self.execution_result_delimiters)

    def split_at_code(self, parts: Sequence[types.Part]) -> list[types.Part] | None:
        """Return the parts up to the first code to run, or None if there is no code to run."""
        return split_at_code(parts, self.code_block_delimiters)


async def in_code_thread(
    function: Callable[..., CodeExecutionResult], *arguments: Any
) -> CodeExecutionResult:
    """Call the function in a thread for code, with the caller's context variables."""
    return await call_in_executor(_threads, partial(copy_context().run, function, *arguments))
