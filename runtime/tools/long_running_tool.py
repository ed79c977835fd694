"""LongRunningFunctionTool: a function whose answer may arrive later (contract T5)."""

from collections.abc import Callable
from typing import Any

from runtime import types
from runtime.events.answer_rules import SITE, check_answer_rule
from runtime.tools.function_tool import FunctionTool

PENDING_NOTE = (
    "This runs long: the first result may only say that the work is pending. While it is, do not call this "
    "again; the final result comes by itself."
)


class LongRunningFunctionTool(FunctionTool):
    """A function that starts work and returns a preliminary result, or None.

    The invocation pauses after the call; a function response with the call's id resumes it. If the function cannot
    start the work, it returns a `ToolError`, and the invocation does not pause.

    Args:
        title: a phrase for people: see `BaseTool`.
        answered_by: the party that may answer a call (contract T10): `person`, the user of the session;
            `staff:<permission>`, staff with that permission; `site`, the application's code alone.

    Raises:
        ConfigurationError: `answered_by` is none of these.
    """

    def __init__(
        self, func: Callable[..., Any], *, title: str | None = None, answered_by: str = SITE
    ) -> None:
        super().__init__(func, title=title)
        check_answer_rule("answered_by", answered_by, self.name, may_be_site=True)
        self.is_long_running = True
        self.answered_by = answered_by

    def _get_declaration(self) -> types.FunctionDeclaration:
        declaration = super()._get_declaration()
        return with_pending_note(declaration)


def with_pending_note(declaration: types.FunctionDeclaration) -> types.FunctionDeclaration:
    """Return the declaration with a note on late results in its description."""
    texts = (declaration.description, PENDING_NOTE)
    return declaration.model_copy(update={"description": "\n\n".join(text for text in texts if text)})
