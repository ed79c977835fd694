"""The tool `get_user_choice`: asks the person to choose an option (contract T9)."""

from runtime.events.answer_rules import PERSON
from runtime.tools.long_running_tool import LongRunningFunctionTool
from runtime.tools.tool_context import ToolContext


def get_user_choice(
    options: list[str], tool_context: ToolContext
) -> None:  # the docstring is sent to the model
    """Show the person some options and wait for their choice.

    Args:
        options: What the person can choose from.
    """
    tool_context.actions.skip_summarization = True


get_user_choice_tool = LongRunningFunctionTool(get_user_choice, answered_by=PERSON)
