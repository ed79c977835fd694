"""ContextFilterPlugin: limits the contents of requests."""

from collections.abc import Callable
from itertools import groupby

from runtime import types
from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.events.quotation import is_quotation
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import calls_in, responses_in
from runtime.plugins.base_plugin import BasePlugin

Contents = list[types.Content]


class ContextFilterPlugin(BasePlugin):
    """Sends only the latest invocations, further reduced by a custom filter.

    A function call and its response are sent together or not at all: if the filter drops either, both are left out.

    Args:
        num_invocations_to_keep: number of latest invocations to send, including the current invocation; None sends all.
        custom_filter: function from the list of remaining contents to the contents to send.

    Raises:
        ConfigurationError: `num_invocations_to_keep` is less than one.
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
                f"Plugin {name!r} cannot keep {num_invocations_to_keep} invocations. Keep one or more, or None for all."
            )
        self.num_invocations_to_keep = num_invocations_to_keep
        self.custom_filter = custom_filter

    async def before_model_callback(self, *, callback_context: Context, llm_request: LlmRequest) -> None:
        contents = llm_request.contents
        if self.num_invocations_to_keep is not None:
            starts = invocation_starts(contents)[-self.num_invocations_to_keep :]
            if starts:
                contents = contents[starts[0] :]
        if self.custom_filter is not None:
            # Models refuse contents with a call but no response.
            contents = without_unpaired_calls(self.custom_filter(list(contents)))
        llm_request.contents = contents


def invocation_starts(contents: Contents) -> list[int]:
    """Return the positions where an invocation starts: the beginnings of consecutive contents from the user."""
    # Function responses and texts of other agents have the role `user`, too, but do not start an invocation.
    starts: list[int] = []
    position = 0
    for role, group in groupby(contents, lambda content: content.role):
        consecutive = list(group)
        if role == "user" and _is_from_person(consecutive):
            starts.append(position)
        position += len(consecutive)
    return starts


def without_unpaired_calls(contents: Contents) -> Contents:
    """Return the contents without calls that lack a response, or responses that lack a call."""
    # By name: generated call ids are not in the contents (contract Q3).
    kept: Contents = []
    with_ends = [None, *contents, None]
    for before, content, after in zip(with_ends, contents, with_ends[2:], strict=False):
        if _call_names(content) and _call_names(content) != _response_names(after):
            content = _filter_parts(content, lambda part: not part.function_call)
        if _response_names(content) and _response_names(content) != _call_names(before):
            content = _filter_parts(content, lambda part: not part.function_response)
        if content.parts:
            kept.append(content)
    return kept


def _is_from_person(contents: Contents) -> bool:
    answers_calls = any(_response_names(content) for content in contents)
    return not answers_calls and any(not is_quotation(content) for content in contents)


def _call_names(content: types.Content | None) -> list[str | None]:
    return [call.name for call in calls_in(content)]


def _response_names(content: types.Content | None) -> list[str | None]:
    return [response.name for response in responses_in(content)]


def _filter_parts(content: types.Content, keep: Callable[[types.Part], bool]) -> types.Content:
    return content.model_copy(update={"parts": [part for part in content.parts or [] if keep(part)]})
