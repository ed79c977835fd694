"""Failures of calls to Gemini, converted to `ModelError`."""

from __future__ import annotations

import json

import httpx2
from google.genai import errors

from runtime.errors import ModelError

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

_MAX_MESSAGE_LENGTH = 500


def as_model_error(failure: Exception) -> ModelError:
    """Return the failure as a code (the API's status name) and a readable sentence."""
    match failure:
        case errors.APIError():
            return _api_error(failure)
        case TimeoutError() | httpx2.TimeoutException():
            return ModelError("DEADLINE_EXCEEDED", "The model did not answer in time.")
        case httpx2.TransportError():
            reason = str(failure) or type(failure).__name__
            return ModelError("UNAVAILABLE", f"The connection to the model failed: {reason}.")
        case _:
            return ModelError("INVALID_RESPONSE", "The model's server sent a response that is not JSON.")


def as_stream_error(failure: Exception) -> ModelError:
    """Return a failure in the middle of an answer; a broken connection or chunk is a `STREAM_CUT`."""
    match failure:
        case errors.APIError() | TimeoutError() | httpx2.TimeoutException():
            return as_model_error(failure)
        case _:
            return stream_cut()


def stream_cut() -> ModelError:
    """Return the error of an answer that ends without a finish reason."""
    return ModelError("STREAM_CUT", "The connection to the model broke in the middle of its answer.")


def _api_error(failure: errors.APIError) -> ModelError:
    # For a proxy's HTML page, `status` is the reason phrase ("Too Many Requests") and no status name.
    has_status_name = failure.status is not None and failure.status.isupper()
    code = failure.status if has_status_name else _STATUS_NAMES.get(failure.code, f"HTTP_{failure.code}")
    message = failure.message or f"The model's server answered with HTTP status {failure.code}."
    return ModelError(str(code), message[:_MAX_MESSAGE_LENGTH])
