"""Refusals over HTTP: the status of each error, and its sentence as JSON."""

from __future__ import annotations

from http import HTTPStatus

from django.http import JsonResponse

from runtime.errors import AdkError
from sessions_app.errors import ConflictError, LimitExceededError, NotFoundError, PermissionDeniedError

_STATUSES = (
    (NotFoundError, HTTPStatus.NOT_FOUND),
    (PermissionDeniedError, HTTPStatus.FORBIDDEN),
    (ConflictError, HTTPStatus.CONFLICT),
    (LimitExceededError, HTTPStatus.TOO_MANY_REQUESTS),
)


def refusal(error: AdkError) -> JsonResponse:
    """Return the response to a request that a use case refuses: the sentence under `error`."""
    statuses = (status for kind, status in _STATUSES if isinstance(error, kind))
    return JsonResponse({"error": str(error)}, status=next(statuses, HTTPStatus.BAD_REQUEST))
