"""Outcomes: the ways an invocation ends."""

from dataclasses import dataclass, replace

from django.utils.translation import gettext_noop

from runtime.errors import AdkError
from sessions_app.errors import (
    AgentChangedError,
    AgentClosedError,
    FilesUnavailableError,
    NotResumableError,
)
from sessions_app.models import InvocationStatus
from sessions_app.secrets.error_detail import describe, masked


@dataclass(frozen=True)
class Outcome:
    """The end of an invocation.

    Attributes:
        error_message: a sentence for the person.
        error_detail: the error itself, for staff.
    """

    status: str
    error_code: str = ""
    error_message: str = ""
    error_detail: str = ""

    @property
    def is_failure(self) -> bool:
        """Return True for a failure, which the person may retry."""
        return self.status == InvocationStatus.FAILED


COMPLETED = Outcome(InvocationStatus.COMPLETED)
WAITING = Outcome(InvocationStatus.WAITING)
STOPPED = Outcome(InvocationStatus.CANCELLED, "CANCELLED", gettext_noop("Stopped"))
STOPPED_BY_STAFF = Outcome(InvocationStatus.CANCELLED, "STOPPED_BY_STAFF", gettext_noop("Stopped by staff"))
REWOUND = Outcome(InvocationStatus.CANCELLED)
"""A rewind has undone the call of an answer that was queued while the rewind ran."""
HANDED_OVER = Outcome(InvocationStatus.QUEUED)
RESTARTED = Outcome(
    InvocationStatus.FAILED,
    "INTERRUPTED",
    gettext_noop(
        "The server was restarted before this answer was complete, and it could not be taken up again. "
        "Try again for the rest."
    ),
)
AGENT_CHANGED = Outcome(
    InvocationStatus.FAILED,
    "AGENT_CHANGED",
    gettext_noop(
        "The agent has changed since it asked this, and cannot go on with the answer. Write again what you need."
    ),
)
TOO_MANY_CALLS = Outcome(
    InvocationStatus.FAILED,
    "LIMIT",
    gettext_noop(
        "This asked the model more often than one answer may, so it was stopped. Ask for less at once."
    ),
)
AGENT_CLOSED = Outcome(InvocationStatus.FAILED, "AGENT_CLOSED", str(AgentClosedError()))
FILES_UNAVAILABLE = Outcome(
    InvocationStatus.FAILED,
    "FILES_UNAVAILABLE",
    gettext_noop(
        "The storage of files did not answer, so this answer is not complete. Your message is kept. Try again later."
    ),
)
REFUSALS: dict[type[AdkError], Outcome] = {
    NotResumableError: RESTARTED,
    AgentChangedError: AGENT_CHANGED,
    AgentClosedError: AGENT_CLOSED,
    FilesUnavailableError: FILES_UNAVAILABLE,
}
"""Outcomes of invocations that an error has kept from going on."""


def refusal(error: AdkError) -> Outcome:
    """Return the outcome of an error whose class, or base class, is in `REFUSALS`."""
    outcome = next(outcome for refused, outcome in REFUSALS.items() if isinstance(error, refused))
    return replace(outcome, error_detail=masked(str(error)))


def limit_exceeded(message: str) -> Outcome:
    """Return the outcome of an invocation above a limit of the site.

    Args:
        message: a sentence for the person.
    """
    return Outcome(InvocationStatus.FAILED, "LIMIT", message)


def failure(error: Exception) -> Outcome:
    """Return the outcome of an unexpected error: a sentence for the person, the traceback for staff."""
    message = gettext_noop(
        "Something went wrong while answering. Your message is kept. Try again; if it fails again, tell the people "
        "who run this site."
    )
    return Outcome(InvocationStatus.FAILED, type(error).__name__[:64], message, describe(error))
