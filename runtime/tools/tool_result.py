"""Convert the result of a tool to a function response (contract Q2, T5)."""

from dataclasses import dataclass
from typing import Any

import pydantic
import pydantic_core

from runtime.errors import ConfigurationError, with_article
from runtime.events import calls
from runtime.valid_text import valid_values

_ANY: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(Any)


@dataclass(frozen=True)
class ToolError:
    """A failure to return from a tool instead of raising.

    If a long-running tool returns a `ToolError`, or a dict with `status` `'error'`, the invocation does not pause and
    the model sees the error in the next step (contract T5).
    """

    message: str

    def as_response(self) -> dict[str, Any]:
        """Return the function response for the model."""
        return calls.CallFailure.ERROR.response(self.message)


def is_failure(result: object) -> bool:
    """Return True if the result reports a failure: the invocation then does not pause on the call (contract T5)."""
    return isinstance(result, ToolError) or (isinstance(result, dict) and calls.reports_failure(result))


def as_response(tool_name: str, result: object) -> dict[str, Any]:
    """Return the function response for a result, as JSON values. Wrap a result other than a dict as `{'result': …}`.

    The response is a copy, so later changes to the result do not change the event.

    Raises:
        ConfigurationError: the result cannot be written as JSON.
    """
    if isinstance(result, ToolError):
        return result.as_response()
    try:
        value = pydantic_core.from_json(_to_json(result))  # Fails for numbers of more than 4,300 digits.
    except ValueError as error:
        raise ConfigurationError(
            f"Tool {tool_name!r} returned {with_article(type(result).__name__)} that is not JSON: {error}. Return "
            "dicts, lists, text, numbers, booleans, None, pydantic models or dataclasses of these."
        ) from error
    return value if isinstance(result, dict) else {"result": value}


def _to_json(result: object) -> bytes:
    """Return the result as JSON, with U+FFFD for lone surrogates."""
    try:
        return pydantic_core.to_json(result, inf_nan_mode="strings", bytes_mode="base64")
    except pydantic_core.PydanticSerializationError:
        # A lone surrogate, in a text, a key, or an object such as a path. Anything else fails again.
        values = valid_values(_ANY.dump_python(result))
        values = pydantic_core.to_jsonable_python(values, inf_nan_mode="strings", bytes_mode="base64")
        return pydantic_core.to_json(valid_values(values))
