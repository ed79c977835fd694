"""Texts of an invocation, for metrics and judges."""

from collections.abc import Iterator
from typing import Any

from runtime import types
from runtime.evaluation.eval_case import (
    IntermediateData,
    Invocation,
    InvocationEvents,
    get_all_tool_calls,
    get_all_tool_responses,
)
from runtime.evaluation.eval_metrics import BaseCriterion
from runtime.models.llm_response import text_in


def content_text(content: types.Content | None) -> str:
    """Return the text of a content without thoughts, with a line for each part."""
    return text_in(content, "\n")


def whole_text_of(invocation: Invocation) -> str:
    """Return the texts before the final response, followed by the final response."""
    return "\n".join(filter(None, [*texts_before(invocation), content_text(invocation.final_response)]))


def answer_of(invocation: Invocation, criterion: BaseCriterion) -> str:
    """Return the text that a judge reads as the answer."""
    if criterion.include_intermediate_responses_in_final:
        return whole_text_of(invocation)
    return content_text(invocation.final_response)


def calls_of(invocation: Invocation) -> list[dict[str, Any]]:
    """Return the calls of an invocation, each with its last response, for a judge."""
    data = invocation.intermediate_data
    # A long-running call has several responses; the last one is the result.
    responses = {response.id: response.response for response in get_all_tool_responses(data)}
    calls = []
    for call in get_all_tool_calls(data):
        response = responses.get(call.id)
        calls.append({"tool": call.name, "arguments": call.args or {}, "response": response})
    return calls


def texts_before(invocation: Invocation) -> Iterator[str]:
    """Yield the texts before the final response."""
    data = invocation.intermediate_data
    if isinstance(data, IntermediateData):
        for _author, parts in data.intermediate_responses:
            yield content_text(types.Content(parts=parts))
    elif isinstance(data, InvocationEvents):
        yield from (content_text(event.content) for event in data.invocation_events)
