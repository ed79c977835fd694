"""States of answered calls."""

from collections.abc import Mapping
from typing import Any

from runtime.engine.human_input.confirmation import REJECTED, REJECTED_BECAUSE
from runtime.events.calls import CallFailure
from sessions_app.history.event_marks import INTERRUPTED_CALL, STOPPED_CALL

_STATES = {
    CallFailure.REJECTED: "declined",
    CallFailure.INTERRUPTED: "interrupted",
    CallFailure.STOPPED: "interrupted",
    "cancelled": "cancelled",
}


WAITING = ("pending", "queued")
"""Statuses of responses that stand in for the answer to a call that waits for a person, or for a job."""


def waits(response: Mapping[str, Any]) -> bool:
    """Return True for a response that only says that the result comes later."""
    return response.get("status") in WAITING and not response.get("error")


def state_of(response: Mapping[str, Any]) -> str:
    """Return the state of a call with this response.

    The state is `ok`, `failed`, `declined` for a call rejected by a person, `cancelled` if its job was cancelled, or
    `interrupted` if the invocation ended during the call, which may have had effects.
    """
    status = status_of(response)
    if response.get("error"):
        return _STATES.get(status, "failed")
    return "failed" if status in ("error", "failed") else "ok"


def status_of(response: Mapping[str, Any]) -> str:
    """Return the status in a response; empty without a status."""
    status = response.get("status")
    error = response.get("error")
    # A stored response may have another status or none: then only the message tells it from an error of a tool.
    if status in (None, CallFailure.ERROR) and isinstance(error, str):
        if error == REJECTED or error.startswith(REJECTED_BECAUSE):
            return CallFailure.REJECTED
        if error == INTERRUPTED_CALL:
            return CallFailure.INTERRUPTED
        if error == STOPPED_CALL:
            return CallFailure.STOPPED
    return status if isinstance(status, str) else ""
