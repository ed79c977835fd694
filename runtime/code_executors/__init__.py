"""Code executors: run the code that a model writes."""

from runtime.code_executors.base_code_executor import BaseCodeExecutor
from runtime.code_executors.built_in_code_executor import BuiltInCodeExecutor
from runtime.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult, File
from runtime.code_executors.restricted_code_executor import RestrictedCodeExecutor
from runtime.code_executors.unsafe_local_code_executor import UnsafeLocalCodeExecutor

__all__ = [
    "BaseCodeExecutor",
    "BuiltInCodeExecutor",
    "CodeExecutionInput",
    "CodeExecutionResult",
    "File",
    "RestrictedCodeExecutor",
    "UnsafeLocalCodeExecutor",
]
