"""Public import path of `ToolContext`; defined in `runtime.context`."""

from runtime.context import Context as ToolContext

__all__ = ["ToolContext"]
