"""The errors of the site, below the runtime's tree; `protocol.py` maps them to frames and status codes."""

from runtime.errors import AdkError


class NotFoundError(AdkError):
    """There is no such thing, or it is not yours."""


class PermissionDeniedError(AdkError):
    """You may not do this."""


class InvalidInputError(AdkError):
    """This input cannot be used."""


class ConflictError(AdkError):
    """Something else happened first."""


class StaleLeaseError(AdkError):
    """Another process has taken the session over; this one may not write to it any more."""


class LimitExceededError(AdkError):
    """The invocation used more than it may."""


class CannotGoOnError(AdkError):
    """An interrupted invocation cannot be continued from its events."""
