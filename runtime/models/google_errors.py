"""Failures of calls to Gemini."""

from __future__ import annotations

import json
import re

import httpx2
from google.genai import errors

from runtime.models.failures import (
    CallFailure,
    FailureReader,
    disconnected,
    model_error,
    parse_seconds,
    retry_after,
    status_name,
    timed_out,
    unreadable,
)

_STATUS_NAME = re.compile("[A-Z_]{1,40}")


def _read(failure: Exception) -> CallFailure:
    match failure:
        case errors.APIError():
            error = model_error(_status_name(failure), failure.message or str(failure))
            return CallFailure("refused", error, failure.code, _requested_delay(failure))
        case TimeoutError() | httpx2.TimeoutException():
            return timed_out(failure)
        case httpx2.TransportError():
            return disconnected(failure)
        case _:
            return unreadable(failure)


FAILURES = FailureReader(
    exceptions=(
        errors.APIError,
        errors.UnknownApiResponseError,
        json.JSONDecodeError,
        httpx2.TransportError,
        TimeoutError,
    ),
    read=_read,
)


def _status_name(failure: errors.APIError) -> str:
    # For a proxy's HTML page, `status` is the reason phrase ("Too Many Requests") and no status name.
    if failure.status is not None and _STATUS_NAME.fullmatch(failure.status):
        return str(failure.status)
    return status_name(failure.code)


def _requested_delay(failure: errors.APIError) -> float | None:
    """Return the seconds in `RetryInfo` of the error's details, else in the `Retry-After` header, else None."""
    for detail in _details(failure.details):
        if str(detail.get("@type", "")).endswith("google.rpc.RetryInfo"):
            return parse_seconds(str(detail.get("retryDelay", "")).removesuffix("s"))
    return retry_after(failure.response.headers) if isinstance(failure.response, httpx2.Response) else None


def _details(body: object) -> list[dict[str, object]]:
    error = body.get("error", body) if isinstance(body, dict) else {}
    details = error.get("details", []) if isinstance(error, dict) else []
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []
