"""Events as their person may see them: without the app's state, which all people share, and without credentials."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from runtime.sessions.state import State
from sessions_app.secrets.masking import mask_keys

_CREDENTIALS = ('AuthCredential"', '"authType"', '"auth_type"')
"""Texts of which the JSON of an event with a credential has at least one."""


def public_body(body: str) -> str:
    """Return an event's JSON as its person may see it. The JSON is parsed only if there may be parts to leave out."""
    has_app_state = f'"{State.APP_PREFIX}' in body
    has_credential = any(mark in body for mark in _CREDENTIALS)
    if not has_app_state and not has_credential:
        return body
    values = without_app_state(json.loads(body))
    return json.dumps(
        mask_keys(values) if has_credential else values, ensure_ascii=False, separators=(",", ":")
    )


def without_app_state(body: Any) -> Any:
    """Return an event's JSON values without changes of the app's state."""
    actions = body.get("actions") if isinstance(body, Mapping) else None
    if not isinstance(actions, Mapping) or not isinstance(actions.get("stateDelta"), Mapping):
        return body
    own = {key: value for key, value in actions["stateDelta"].items() if not key.startswith(State.APP_PREFIX)}
    return {**body, "actions": {**actions, "stateDelta": own}}
