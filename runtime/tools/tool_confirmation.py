"""Public import path of `ToolConfirmation`; defined in `runtime.events.tool_confirmation`."""

from runtime.events.tool_confirmation import ToolConfirmation

__all__ = ["ToolConfirmation"]
