"""Results of a call, as a model reads them."""

from __future__ import annotations

from typing import Any

import pydantic_core

from runtime.tools.openapi_tool.http_exchange import HttpAnswer

MAX_ERROR_CHARACTERS = 4_000

_TEXTUAL = ("text/", "json", "xml", "javascript", "yaml", "csv", "x-www-form-urlencoded")


def as_result(tool_name: str, answer: HttpAnswer) -> Any:
    """Return the JSON of a successful answer, `{'text': …}` for another text, or `{'error': …}`."""
    if not 200 <= answer.status < 300:
        return failure(tool_name, f"Status Code: {answer.status}, {_cut(_shown(answer))}")
    if answer.is_cut:
        beginning = _cut(_shown(answer))
        return failure(
            tool_name,
            f"The answer is larger than {len(answer.body)} bytes. Ask for less. It begins with: {beginning}",
        )
    try:
        return pydantic_core.from_json(answer.body)
    except ValueError:
        return {"text": _shown(answer)}


def failure(tool_name: str, reason: str) -> dict[str, Any]:
    """Return an error for the model."""
    return {
        "error": f"Tool {tool_name} failed: {reason}\nCorrect the arguments if they are the cause; otherwise "
        "tell the user. Do not repeat the same call more than three times."
    }


def _shown(answer: HttpAnswer) -> str:
    kind = answer.headers.get("content-type", "text/plain").lower()
    if not any(word in kind for word in _TEXTUAL):
        return f"({len(answer.body)} bytes of {kind}, not shown)"
    return answer.body.decode("utf-8", "replace")


def _cut(text: str) -> str:
    return text if len(text) <= MAX_ERROR_CHARACTERS else f"{text[:MAX_ERROR_CHARACTERS]} … (cut)"
