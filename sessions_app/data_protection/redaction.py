"""Removal of secrets from JSON values before they leave the site."""

from __future__ import annotations

import re
from typing import Any

from runtime.events.calls import REQUEST_CREDENTIAL

REDACTED = "[redacted]"
_SECRET_KEY = re.compile(
    r"(?i)(password|passwd|secret|credential|authorization|cookie|private_?key|api_?key|bearer"
    r"|(access|refresh|id|auth|session)_?token|^token$|auth_?code|auth_?response_?uri)"
)


def redact(value: Any) -> Any:
    """Return the JSON value without texts and numbers under keys that name a secret.

    The response to a credential request is redacted whole, except its mark that a credential was given.
    """
    if isinstance(value, list):
        return [redact(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("name") == REQUEST_CREDENTIAL and "response" in value:
        value = {**value, "response": {"result": REDACTED, **_given_mark(value["response"])}}
    return {key: _redact_item(key, item) for key, item in value.items()}


def _given_mark(response: Any) -> dict[str, bool]:
    given = response.get("given") if isinstance(response, dict) else None
    return {"given": given} if isinstance(given, bool) else {}


def _redact_item(key: str, item: Any) -> Any:
    is_secret = _SECRET_KEY.search(key) and isinstance(item, str | int | float) and not isinstance(item, bool)
    return REDACTED if is_secret else redact(item)
