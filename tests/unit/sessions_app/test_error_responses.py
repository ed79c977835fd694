"""Contract: each error of a use case has one status and its sentence over HTTP."""

from __future__ import annotations

import json

import pytest

from runtime.errors import AdkError
from sessions_app.chat.requests import error_response
from sessions_app.errors import (
    ConflictError,
    InvalidInputError,
    LegalHoldError,
    LimitExceededError,
    NotFoundError,
    PermissionDeniedError,
)

STATUSES = [
    (NotFoundError, 404),
    (PermissionDeniedError, 403),
    (ConflictError, 409),
    (LegalHoldError, 409),
    (LimitExceededError, 429),
    (InvalidInputError, 400),
]


@pytest.mark.parametrize(("kind", "status"), STATUSES)
def test_each_error_has_its_status_and_its_sentence(kind: type[AdkError], status: int) -> None:
    response = error_response(kind("Choose a file."))
    assert response.status_code == status
    assert json.loads(response.content) == {"error": "Choose a file."}
