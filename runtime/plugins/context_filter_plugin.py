"""Limiting what of the history a model is sent."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from runtime import types
from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.models.llm_request import LlmRequest
from runtime.plugins.base_plugin import BasePlugin

Contents = list[types.Content]

_FOR_CONTEXT = "For context:"


class ContextFilterPlugin(BasePlugin):
    """Sends the last invocations only, and of those what a filter of yours leaves.

    A function call and its response are sent together or not at all: what a filter separates is left out.

    Args:
        num_invocations_to_keep: how many of the latest invocations are sent, the current one among them; None
            sends all.
        custom_filter: gets the contents, which are of this request only, and returns those to send.

    Raises:
        ConfigurationError: fewer than one invocation is to be kept.
    """

    def __init__(
        self,
        num_invocations_to_keep: int | None = None,
        custom_filter: Callable[[Contents], Contents] | None = None,
        name: str = "context_filter_plugin",
    ) -> None:
        super().__init__(name)
        if num_invocations_to_keep is not None and num_invocations_to_keep < 1:
            raise ConfigurationError(
                f"Plugin {name!r} cannot keep {num_invocations_to_keep} invocations: keep one or more, or None for all."
            )
        self.num_invocations_to_keep = num_invocations_to_keep
        self.custom_filter = custom_filter

    async def before_model_callback(self, *, callback_context: Context, llm_request: LlmRequest) -> None:
        """Replace the request's contents by those to send."""
        contents = llm_request.contents
        if self.num_invocations_to_keep is not None:
            starts = invocation_starts(contents)[-self.num_invocations_to_keep :]
            contents = contents[starts[0] :] if starts else contents
        if self.custom_filter is not None:
            contents = without_halves(self.custom_filter(list(contents)))
        llm_request.contents = contents


def invocation_starts(contents: Contents) -> list[int]:
    """Where a person begins to speak: each run of contents in the user's role that holds words of theirs.

    Responses to calls and other agents' words have the user's role, too, and begin nothing.
    """
    runs = [index for index, content in enumerate(contents) if content.role == "user"]
    firsts = [index for before, index in pairwise([-2, *runs]) if index - before > 1]
    return [index for index in firsts if _is_said_by_person(_run_from(contents, index))]


def without_halves(contents: Contents) -> Contents:
    """Without calls that no response follows, and responses that follow no call."""
    kept: Contents = []
    for index, content in enumerate(contents):
        before = contents[index - 1] if index else None
        after = contents[index + 1] if index + 1 < len(contents) else None
        if _calls(content) and _calls(content) != _responses(after):
            content = _only(content, lambda part: not part.function_call)
        if _responses(content) and _responses(content) != _calls(before):
            content = _only(content, lambda part: not part.function_response)
        if content.parts:
            kept.append(content)
    return kept


def _run_from(contents: Contents, start: int) -> Contents:
    end = start
    while end < len(contents) and contents[end].role == "user":
        end += 1
    return contents[start:end]


def _is_said_by_person(run: Contents) -> bool:
    answers_calls = any(_responses(content) for content in run)
    return not answers_calls and any(not _is_of_another_agent(content) for content in run)


def _is_of_another_agent(content: types.Content) -> bool:
    parts = content.parts or []
    return bool(parts) and parts[0].text == _FOR_CONTEXT


def _calls(content: types.Content | None) -> list[str | None]:
    parts = (content.parts or []) if content else []
    return [part.function_call.name for part in parts if part.function_call]


def _responses(content: types.Content | None) -> list[str | None]:
    parts = (content.parts or []) if content else []
    return [part.function_response.name for part in parts if part.function_response]


def _only(content: types.Content, keep: Callable[[types.Part], bool]) -> types.Content:
    return content.model_copy(update={"parts": [part for part in content.parts or [] if keep(part)]})
