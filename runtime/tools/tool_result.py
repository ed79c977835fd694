"""What a tool may return, and what of it the model gets (spec Q2, T5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pydantic_core

from runtime.errors import ConfigurationError
from runtime.events import calls


@dataclass(frozen=True)
class ToolError:
    """Returned by a tool to say that it did not do what it was asked.

    A long-running tool that returns it, or a dict with `status` `'error'`, does not pause the invocation: the
    model sees the error at once (spec T5).
    """

    message: str

    def as_response(self) -> dict[str, Any]:
        """What the model gets."""
        return {"status": "error", "error": self.message}


def is_refusal(result: object) -> bool:
    """Whether the result says that the tool failed, so that there is nothing to wait for (spec T5)."""
    return isinstance(result, ToolError) or (isinstance(result, dict) and calls.is_refusal(result))


def as_response(tool_name: str, result: object) -> dict[str, Any]:
    """The result as the model gets it: JSON values, anything but a dict as `{'result': …}` (spec Q2).

    The response shares nothing with the result: what the tool does to it afterwards changes no event.

    Raises:
        ConfigurationError: the result cannot be written as JSON.
    """
    if isinstance(result, ToolError):
        return result.as_response()
    try:
        text = pydantic_core.to_json(result, inf_nan_mode="strings", bytes_mode="base64")
    except ValueError as error:
        raise ConfigurationError(
            f"Tool {tool_name!r} returned a {type(result).__name__} that is not JSON: {error}. Return dicts, "
            "lists, text, numbers, booleans, None, pydantic models or dataclasses of these."
        ) from error
    value = pydantic_core.from_json(text)
    return value if isinstance(result, dict) else {"result": value}
