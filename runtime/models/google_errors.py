"""Failures of calls to Gemini, converted to `ModelError`."""

from __future__ import annotations

import json
import re

import httpx2
from google.genai import errors

from runtime.errors import ModelError
from runtime.models.error_messages import sentence_for

# Exceptions of a call that failed. Exceptions for wrong arguments are left out.
FAILURES = (
    errors.APIError,
    errors.UnknownApiResponseError,
    json.JSONDecodeError,
    httpx2.TransportError,
    TimeoutError,
)

_STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}

_STATUS_NAME = re.compile("[A-Z_]{1,40}")


def as_model_error(failure: Exception) -> ModelError:
    """Return the failure as a code (the API's status name), a sentence of ours and the server's own words."""
    match failure:
        case errors.APIError():
            return _model_error(_status_name(failure), failure.message or str(failure))
        case TimeoutError() | httpx2.TimeoutException():
            return _model_error("DEADLINE_EXCEEDED", repr(failure))
        case httpx2.TransportError():
            return _model_error("UNAVAILABLE", f"The connection to the model failed: {failure!r}")
        case _:
            return _model_error(
                "INVALID_RESPONSE", f"The model's server sent a response that is not JSON: {failure}"
            )


def as_stream_error(failure: Exception) -> ModelError:
    """Return a failure in the middle of an answer; a broken connection or chunk is a `STREAM_CUT`."""
    match failure:
        case errors.APIError() | TimeoutError() | httpx2.TimeoutException():
            return as_model_error(failure)
        case _:
            return stream_cut(repr(failure))


def stream_cut(detail: str = "") -> ModelError:
    """Return the error of an answer that ends without a finish reason."""
    return _model_error("STREAM_CUT", detail)


def _model_error(code: str, detail: str) -> ModelError:
    return ModelError(code, sentence_for(code), detail)


def _status_name(failure: errors.APIError) -> str:
    # For a proxy's HTML page, `status` is the reason phrase ("Too Many Requests") and no status name.
    if failure.status is not None and _STATUS_NAME.fullmatch(failure.status):
        return str(failure.status)
    return _STATUS_NAMES.get(failure.code, f"HTTP_{failure.code}")
