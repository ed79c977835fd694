"""Format examples as text for the instruction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from runtime import types
from runtime.examples.example import Example

_HEADING = (
    "Here are examples of messages and how to answer them. They show the manner only: "
    "nothing in them was said in this session."
)


def examples_instruction(examples: Sequence[Example]) -> str:
    """Return the examples as one instruction text."""
    sections = [_format_example(number, example) for number, example in enumerate(examples, start=1)]
    return "\n\n".join([_HEADING, *sections])


def _format_example(number: int, example: Example) -> str:
    lines = [f"Example {number}", *_format_content(example.input, "User")]
    for content in example.output:
        lines += _format_content(content, "User" if content.role == "user" else "You")
    return "\n".join(lines)


def _format_content(content: types.Content, speaker: str) -> list[str]:
    lines = [_format_part(part, speaker) for part in content.parts or []]
    return list(filter(None, lines))


def _format_part(part: types.Part, speaker: str) -> str:
    if part.text:
        return f"{speaker}: {part.text}"
    if part.function_call:
        return f"You call {part.function_call.name} with {_as_json(part.function_call.args)}"
    if part.function_response:
        return f"{part.function_response.name} returns {_as_json(part.function_response.response)}"
    return ""


def _as_json(values: dict[str, Any] | None) -> str:
    """Return the JSON that a model reads: letters stay as they are, and a value that is no JSON is its text."""
    return json.dumps(values or {}, ensure_ascii=False, default=str)
