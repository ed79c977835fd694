"""States of answered calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.engine.human_input.confirmation import is_rejection
from sessions_app.history.event_marks import INTERRUPTED_CALL, STOPPED_CALL


def state_of(response: Mapping[str, Any]) -> str:
    """Return the state of a call with this response.

    It is `ok`, `failed`, `declined` when a person rejected the call, `cancelled` when its job was cancelled, or
    `interrupted` when the invocation ended during it: it may have had effects.
    """
    error = response.get("error")
    if isinstance(error, str) and is_rejection(error):
        return "declined"
    if error in (INTERRUPTED_CALL, STOPPED_CALL):
        return "interrupted"
    if error and response.get("status") == "cancelled":
        return "cancelled"
    return "failed" if error or response.get("status") in ("error", "failed") else "ok"
