"""Code executors: run the code that a model writes."""

from runtime.code_executors.base_code_executor import BaseCodeExecutor
from runtime.code_executors.built_in_code_executor import BuiltInCodeExecutor

__all__ = ["BaseCodeExecutor", "BuiltInCodeExecutor"]
