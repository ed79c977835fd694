"""Errors of the API, created from the problem details (RFC 9457) of a response."""

from collections.abc import Mapping
from typing import Any

import httpx

from adk_client.models import FieldError


class ApiError(Exception):
    """The site has refused a request.

    Attributes:
        status: HTTP status.
        code: reason for programs, such as `not_found` or `limit`.
        detail: a sentence for people.
        fields: invalid fields.
        retry_after: seconds after which the request may succeed; None if the site does not say.
        problem: all members of the problem details.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after: float | None) -> None:
        self.status = status
        self.code = str(problem.get("code", "error"))
        self.detail = str(problem.get("detail", f"The site has answered with the status {status}."))
        self.fields = [FieldError.model_validate(field) for field in problem.get("errors", [])]
        self.retry_after = retry_after
        self.problem = problem
        super().__init__(self.detail)


class UnauthorizedError(ApiError):
    """The key is missing, unknown, expired or revoked."""


class ForbiddenError(ApiError):
    """The key lacks a scope, or its owner may not do this."""


class NotFoundError(ApiError):
    """There is no such object, or the key has no access to it."""


class ConflictError(ApiError):
    """The request conflicts with the current state, such as a second answer to a question."""


class InvalidError(ApiError):
    """The request is invalid; `fields` names the fields."""


class LimitError(ApiError):
    """A limit is exceeded; `retry_after` says for how long."""


class ConnectionLostError(Exception):
    """The site answered none of the attempts."""


KINDS: dict[int, type[ApiError]] = {
    400: InvalidError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    412: ConflictError,
    413: InvalidError,
    422: InvalidError,
    429: LimitError,
}


def error_of(response: httpx.Response) -> ApiError:
    """Return the error for a response whose body has been read."""
    try:
        problem = response.json()
    except ValueError:  # A proxy has answered.
        problem = {}
    kind = KINDS.get(response.status_code, ApiError)
    return kind(
        response.status_code, problem if isinstance(problem, dict) else {}, _retry_after(response.headers)
    )


def _retry_after(headers: httpx.Headers) -> float | None:
    text = headers.get("retry-after", "")
    # HTTP also allows a date; the site sends seconds.
    return float(text) if text.isascii() and text.isdecimal() else None
