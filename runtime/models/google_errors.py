"""Failures of calls to Gemini."""

from __future__ import annotations

import re

import httpx2
from google.genai import errors

from runtime.models.failures import (
    TRANSPORT_FAILURES,
    CallFailure,
    FailureReader,
    model_error,
    not_answered,
    parse_seconds,
    retry_after,
    status_name,
)

_STATUS_NAME = re.compile("[A-Z_]{1,40}")


def _read(failure: Exception) -> CallFailure:
    if not isinstance(failure, errors.APIError):
        return not_answered(failure)
    error = model_error(_status_name(failure), failure.message or str(failure))
    return CallFailure("refused", error, failure.code, _requested_delay(failure))


FAILURES = FailureReader(
    exceptions=(errors.APIError, errors.UnknownApiResponseError, *TRANSPORT_FAILURES), read=_read
)


def _status_name(failure: errors.APIError) -> str:
    # For a proxy's HTML page, `status` is the reason phrase ("Too Many Requests") and no status name.
    if failure.status is not None and _STATUS_NAME.fullmatch(failure.status):
        return str(failure.status)
    return status_name(failure.code)


def _requested_delay(failure: errors.APIError) -> float | None:
    """Return the seconds in `RetryInfo` of the error's details, otherwise in the `Retry-After` header, or None."""
    for detail in _details(failure.details):
        if str(detail.get("@type", "")).endswith("google.rpc.RetryInfo"):
            return parse_seconds(str(detail.get("retryDelay", "")).removesuffix("s"))
    if isinstance(failure.response, httpx2.Response):
        return retry_after(failure.response.headers)
    return None


def _details(body: object) -> list[dict[str, object]]:
    # A proxy may answer with a body of any shape.
    error = body.get("error", body) if isinstance(body, dict) else {}
    details = error.get("details") if isinstance(error, dict) else None
    if not isinstance(details, list):
        return []
    return [detail for detail in details if isinstance(detail, dict)]
