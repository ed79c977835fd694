"""Texts of an invocation, for metrics and judges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from runtime import types
from runtime.evaluation.eval_case import IntermediateData, Invocation, InvocationEvents


def text_of(content: types.Content | None) -> str:
    """Return the text of a content without thoughts, with a line for each part."""
    return _joined(content.parts or []) if content else ""


def whole_text_of(invocation: Invocation) -> str:
    """Return the texts before the final response, followed by the final response."""
    return "\n".join(filter(None, [*_texts_before(invocation), text_of(invocation.final_response)]))


def _texts_before(invocation: Invocation) -> Iterator[str]:
    data = invocation.intermediate_data
    if isinstance(data, IntermediateData):
        yield from (_joined(parts) for _author, parts in data.intermediate_responses)
    elif isinstance(data, InvocationEvents):
        yield from (text_of(event.content) for event in data.invocation_events)


def _joined(parts: Iterable[types.Part]) -> str:
    return "\n".join(part.text for part in parts if part.text and not part.thought)
