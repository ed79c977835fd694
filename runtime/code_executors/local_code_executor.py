"""Base of the executors that run code in a Python process on the local machine."""

from __future__ import annotations

import abc
import asyncio

from runtime.code_executors.base_code_executor import BaseCodeExecutor, in_code_thread
from runtime.code_executors.child_python import ChildPython
from runtime.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult
from runtime.context import InvocationContext


class LocalCodeExecutor(BaseCodeExecutor):
    """Run each block in a new process. Cancelling the invocation ends the process."""

    @abc.abstractmethod
    def new_process(self) -> ChildPython:
        """Return a process that has not started."""

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Run the code and wait for its end."""
        return self.new_process().run(code_execution_input)

    async def execute_code_async(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Run the code; end the process if this coroutine is cancelled."""
        process = self.new_process()
        try:
            return await in_code_thread(process.run, code_execution_input)
        # Cancelling the future does not stop its thread, which would wait for the code.
        except asyncio.CancelledError:
            process.kill()
            raise
