"""Progress that an MCP server reports during a call."""

from __future__ import annotations

import inspect
from typing import Any, Protocol

from runtime.context import Context
from runtime.tools.callables import underlying_function
from runtime.tools.progress import progress_receiver


class ProgressCallback(Protocol):
    """Coroutine function that takes the progress of a call."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Handle the progress."""


class ProgressCallbackFactory(Protocol):
    """Function that returns the callback for a call, or None."""

    def __call__(
        self, tool_name: str, *, callback_context: Context, **kwargs: Any
    ) -> ProgressCallback | None:
        """Return the callback."""


def on_progress(
    given: ProgressCallback | ProgressCallbackFactory | None, tool_name: str, tool_context: Context
) -> ProgressCallback | None:
    """Return a callback that informs both the given callback and the receiver of this call's progress, or None."""
    callback = _callback_of(given, tool_name, tool_context)
    receiver = progress_receiver()
    if receiver is None:
        return callback

    async def both(progress: float, total: float | None, message: str | None) -> None:
        receiver(progress, total or 0.0, message or "")
        if callback is not None:
            await callback(progress, total, message)

    return both


def _callback_of(given: Any, tool_name: str, tool_context: Context) -> ProgressCallback | None:
    is_factory = given is not None and not inspect.iscoroutinefunction(underlying_function(given))
    callback: ProgressCallback | None = (
        given(tool_name, callback_context=tool_context) if is_factory else given
    )
    return callback
