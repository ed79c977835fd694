"""LongRunningFunctionTool: a function whose answer may arrive later (contract T5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime import types
from runtime.tools.function_tool import FunctionTool

_NOTE = (
    "This runs long: the first result may only say that the work is pending. While it is, do not call this "
    "again; the final result comes by itself."
)


class LongRunningFunctionTool(FunctionTool):
    """A function that starts work and returns a preliminary result, or None.

    The invocation pauses after the call; a function response with the call's id resumes it. A function that cannot
    start the work returns `ToolError`, and the invocation does not pause.
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        super().__init__(func)
        self.is_long_running = True

    def _get_declaration(self) -> types.FunctionDeclaration:
        declaration = super()._get_declaration()
        declaration.description = "\n\n".join(text for text in (self.description, _NOTE) if text)
        return declaration
