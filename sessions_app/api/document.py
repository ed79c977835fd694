"""Parts of an OpenAPI 3.1 document that operations share: problem details, and the header of writes.

Middleware and decorators answer with them, not the operations, so django-ninja does not know them.
"""

from __future__ import annotations

from typing import Any

from sessions_app.api.idempotency import HEADER, WRITES
from sessions_app.models.idempotent_request import MAX_KEY_LENGTH

PROBLEM: dict[str, Any] = {
    "title": "Problem",
    "description": "Problem details (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string", "examples": ["about:blank"]},
        "title": {"type": "string", "examples": ["Unprocessable Entity"]},
        "status": {"type": "integer", "examples": [422]},
        "code": {"type": "string", "description": "The reason, for programs.", "examples": ["invalid"]},
        "detail": {"type": "string", "description": "A sentence: the reason, and what to do."},
        "errors": {
            "type": "array",
            "description": "Fields that cannot be used.",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {
                    "field": {"type": "string", "examples": ["query.limit"]},
                    "message": {"type": "string"},
                },
            },
        },
        "reference": {"type": "string", "description": "Names the record of a failure in the site's log."},
    },
}
_REFUSAL = {
    "schema": {"$ref": "#/components/schemas/Problem"},
    "example": {
        "type": "about:blank",
        "title": "Unprocessable Entity",
        "status": 422,
        "code": "invalid",
        "detail": "query.limit: Input should be less than or equal to 100.",
        "errors": [{"field": "query.limit", "message": "Input should be less than or equal to 100"}],
    },
}
_REFUSED = {
    "description": "The request is refused or has failed.",
    "content": {"application/problem+json": _REFUSAL},
}
_KEY = {
    "in": "header",
    "name": HEADER,
    "description": "Names the request: sent again under the same key, it is answered again and not repeated.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": "^[\\x20-\\x7e]+$"},
    "required": False,
}


def add_problems(document: dict[str, Any]) -> None:
    """Add the problem details to each operation of the document."""
    document["components"]["schemas"]["Problem"] = PROBLEM
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"]["default"] = _REFUSED


def add_idempotency_keys(document: dict[str, Any]) -> None:
    """Add the header `Idempotency-Key` to each operation of the document that writes."""
    for operations in document["paths"].values():
        for method, operation in operations.items():
            parameters = [*operation.get("parameters", [])]
            names = {parameter["name"].lower() for parameter in parameters}
            if method.upper() in WRITES and HEADER.lower() not in names:
                parameters.append(_KEY)
            operation["parameters"] = parameters
