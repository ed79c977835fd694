"""Errors of calls to remote agents: a sentence for the user, and the remote agent's words for staff."""

from runtime.errors import AdkError, ConfigurationError

UNREACHABLE = "REMOTE_UNREACHABLE"
UNREADABLE = "REMOTE_UNREADABLE"
REFUSED = "REMOTE_REFUSED"
FAILED = "REMOTE_FAILED"
REJECTED = "REMOTE_REJECTED"
CANCELED = "REMOTE_CANCELED"
TOO_LARGE = "REMOTE_TOO_LARGE"
TOO_SLOW = "REMOTE_TOO_SLOW"
NOTHING_TO_SEND = "REMOTE_NOTHING_TO_SEND"

SENTENCES = {
    UNREACHABLE: "The other agent cannot be reached. Try again in a moment.",
    UNREADABLE: "The other agent sent an answer that cannot be read.",
    REFUSED: "The other agent refused the request. Tell the people who run this site.",
    FAILED: "The other agent could not complete the task.",
    REJECTED: "The other agent did not accept the task.",
    CANCELED: "The other agent stopped the task.",
    TOO_LARGE: "The other agent's answer is too large.",
    NOTHING_TO_SEND: "There is nothing to send to the other agent.",
    TOO_SLOW: "The other agent did not answer in time. Try again in a moment.",
}


class RemoteAgentError(AdkError):
    """The remote agent could not answer.

    Attributes:
        code: a code of this module.
        message: a sentence for the user, without text of the remote agent.
        detail: what happened, for staff.
    """

    def __init__(self, code: str, detail: str = "") -> None:
        self.code = code
        self.message = SENTENCES[code]
        self.detail = detail
        super().__init__(f"{self.message} {detail}".strip())


class AgentCardResolutionError(ConfigurationError):
    """The agent card cannot be used."""
