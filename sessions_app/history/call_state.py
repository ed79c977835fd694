"""States of function calls, read from their responses."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from runtime.engine.human_input.confirmation import REJECTED, REJECTED_BECAUSE
from runtime.events.calls import FAILURES, ResponseStatus
from sessions_app.history.event_marks import INTERRUPTED_CALL, STOPPED_CALL


class CallState(StrEnum):
    """State of a call, as pages, transcripts and figures tell it.

    A response has a `ResponseStatus`, or whatever the tool has written; `state_of` makes a state of it. The values are
    part of frames, and of the HTML for scripts and styles.
    """

    UNANSWERED = "unanswered"
    """The call has no response and no question for a person."""
    PENDING = "pending"
    """The call waits for a person or a job."""
    OK = "ok"
    """The call has a result."""
    FAILED = "failed"
    """The tool or the job failed."""
    DECLINED = "declined"
    """A person rejected the call: it did not run."""
    CANCELLED = "cancelled"
    """A person cancelled the job of the call."""
    INTERRUPTED = "interrupted"
    """The invocation ended during the call, which may have had effects, or before its answer."""
    APPROVED = "approved"
    """For the call that asks for a confirmation: a person said yes."""
    REJECTED = "rejected"
    """For the call that asks for a confirmation: a person said no."""


_STATES: Mapping[str, CallState] = {
    ResponseStatus.REJECTED: CallState.DECLINED,
    ResponseStatus.INTERRUPTED: CallState.INTERRUPTED,
    ResponseStatus.STOPPED: CallState.INTERRUPTED,
    ResponseStatus.CANCELLED: CallState.CANCELLED,
}

NOT_FAILED_STATUSES = tuple(_STATES)
"""Statuses of responses with an error that are no failures of a tool."""

WAITING = (ResponseStatus.PENDING, ResponseStatus.QUEUED)
"""Statuses of responses that stand in for the answer to a call that waits for a person, or for a job."""


def waits(response: Mapping[str, Any]) -> bool:
    """True if the response only says that the result comes later."""
    return response.get("status") in WAITING and not response.get("error")


def state_of(response: Mapping[str, Any]) -> CallState:
    """Return the state of a call with this response, which does not wait: see `waits`."""
    status = status_of(response)
    if response.get("error"):
        return _STATES.get(status, CallState.FAILED)
    return CallState.FAILED if status in FAILURES else CallState.OK


def status_of(response: Mapping[str, Any]) -> str:
    """Return the status in a response; empty without a status."""
    status = response.get("status")
    error = response.get("error")
    # A stored response may have another status or none: then only the message tells it from an error of a tool.
    if status in (None, ResponseStatus.ERROR) and isinstance(error, str):
        if error == REJECTED or error.startswith(REJECTED_BECAUSE):
            return ResponseStatus.REJECTED
        if error == INTERRUPTED_CALL:
            return ResponseStatus.INTERRUPTED
        if error == STOPPED_CALL:
            return ResponseStatus.STOPPED
    return status if isinstance(status, str) else ""
