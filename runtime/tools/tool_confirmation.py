"""Public path; defined in `runtime.events.tool_confirmation`."""

from runtime.events.tool_confirmation import ToolConfirmation

__all__ = ["ToolConfirmation"]
