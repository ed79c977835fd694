"""Public path; defined in `runtime.context`."""

from runtime.context import Context as ToolContext

__all__ = ["ToolContext"]
