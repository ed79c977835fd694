"""The tool `exit_loop`: ends a `LoopAgent` (contract A5, Q9)."""

from runtime.tools.tool_context import ToolContext


def exit_loop(tool_context: ToolContext) -> None:
    """End the loop. Call this only when you were told to."""
    tool_context.actions.escalate = True
    tool_context.actions.skip_summarization = True
