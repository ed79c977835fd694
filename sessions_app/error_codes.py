"""Code and HTTP status of each error that a use case raises."""

from __future__ import annotations

from http import HTTPStatus

from runtime.errors import AdkError, SessionNotFoundError
from sessions_app.errors import (
    ConflictError,
    InvalidInputError,
    LimitExceededError,
    NotFoundError,
    PermissionDeniedError,
    StaleLeaseError,
    TooLargeError,
)

CODES: tuple[tuple[type[AdkError], str, HTTPStatus], ...] = (
    (NotFoundError, "not_found", HTTPStatus.NOT_FOUND),
    (SessionNotFoundError, "not_found", HTTPStatus.NOT_FOUND),
    (PermissionDeniedError, "forbidden", HTTPStatus.FORBIDDEN),
    (TooLargeError, "too_large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (InvalidInputError, "invalid", HTTPStatus.BAD_REQUEST),
    (ConflictError, "conflict", HTTPStatus.CONFLICT),
    (LimitExceededError, "limit", HTTPStatus.TOO_MANY_REQUESTS),
    (StaleLeaseError, "stale", HTTPStatus.CONFLICT),
)
OTHER = "error"
"""Code of all other errors."""


def error_code(error: AdkError) -> str:
    """Return the code of an error in frames and in responses of the API."""
    return next((code for kind, code, _ in CODES if isinstance(error, kind)), OTHER)


def http_status(error: AdkError) -> HTTPStatus:
    """Return the HTTP status of the response to a request that an error has refused."""
    found = (status for kind, _, status in CODES if isinstance(error, kind))
    return next(found, HTTPStatus.BAD_REQUEST)
