"""How invocations end."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.models import InvocationStatus


@dataclass(frozen=True)
class Outcome:
    """How an invocation ended; the message is for the person."""

    status: str
    error_code: str = ""
    error_message: str = ""


COMPLETED = Outcome(InvocationStatus.COMPLETED)
WAITING = Outcome(InvocationStatus.WAITING)
STOPPED = Outcome(InvocationStatus.CANCELLED, "CANCELLED", "Stopped")
STOPPED_BY_STAFF = Outcome(InvocationStatus.CANCELLED, "STOPPED_BY_STAFF", "Stopped by staff")
HANDED_OVER = Outcome(InvocationStatus.QUEUED)
RESTARTED = Outcome(
    InvocationStatus.FAILED,
    "INTERRUPTED",
    "The server was restarted before this answer was complete, and it could not be taken up again. "
    "Try again for the rest.",
)
TOO_MANY_CALLS = Outcome(
    InvocationStatus.FAILED,
    "LIMIT",
    "This asked the model more often than one answer may, so it was stopped. Ask for less at once.",
)
