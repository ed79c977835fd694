"""Errors of the site, below the runtime's `AdkError`, with the code and the HTTP status of each.

The docstring of an error is its default message: a user or a program may read it.
"""

from http import HTTPStatus

from django.utils.translation import gettext_noop

from runtime.errors import AdkError, SessionNotFoundError


class NotFoundError(AdkError):
    """There is no such object, or it belongs to another user."""


class PermissionDeniedError(AdkError):
    """You do not have permission to do this."""


class AgentClosedError(PermissionDeniedError):
    """You may not use this agent, or not any more. You can still read the chat."""


class InvalidInputError(AdkError):
    """The input is invalid.

    Attributes:
        field: name of the invalid field in the request's body. Another field is named with its place, such as
            `header.Idempotency-Key`. Empty when no field is to blame.
    """

    def __init__(self, message: str | None = None, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class TooLargeError(InvalidInputError):
    """The input is too large."""


class ConflictError(AdkError):
    """The request conflicts with the current state: refresh and try again."""


class StateChangedError(ConflictError):
    """The state has changed since it was read. Nothing was overwritten: look at the new values."""


class LegalHoldError(ConflictError):
    """A legal hold forbids to erase this."""


class StaleLeaseError(AdkError):
    """Another process has taken over the session; this one may no longer write to it."""


class LimitExceededError(AdkError):
    """A limit of the site is exceeded."""

    def __init__(self, message: str | None = None, *, retry_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds  # None when nobody knows when to try again


class NotResumableError(AdkError):
    """An interrupted invocation cannot be resumed from its events."""


class UnavailableError(AdkError):
    """The database does not answer. Try again."""

    retry_seconds = 5.0


class FilesUnavailableError(UnavailableError, OSError):
    """The storage of files does not answer. An `OSError`, too, so that jobs which retry on it do so."""

    def __init__(self) -> None:
        super().__init__(gettext_noop("The storage of files does not answer. Try again."))


class AlteredFileError(ConflictError):
    """A file is not the one that was stored."""

    def __init__(self) -> None:
        super().__init__(
            gettext_noop("This file is not the one that was stored. Ask the people who run this site.")
        )


class LostPackError(AlteredFileError):
    """The events of a session are in a file that is missing, or is not the one that was stored."""

    def __init__(self) -> None:
        super(AlteredFileError, self).__init__(
            gettext_noop(
                "The archive of this chat is missing or was changed. Ask the people who run this site."
            )
        )


class NotInstalledError(AdkError):
    """This part of the site needs a package or a setting that it does not have."""


class UnexpectedError(AdkError):
    """Something went wrong. Try again.

    Attributes:
        reference: names the traceback in the log.
    """

    def __init__(self, reference: str) -> None:
        super().__init__(gettext_noop("Something went wrong (reference {0}). Try again.").format(reference))
        self.reference = reference


class AgentChangedError(AdkError):
    """The agent has changed since it made a call, and cannot go on with the answer."""


class AgentFolderError(AdkError):
    """An agent folder cannot be served; the other apps of the site are."""


# Subclasses stand before their base: the first entry that matches counts.
CODES: tuple[tuple[type[AdkError], str, HTTPStatus], ...] = (
    (NotFoundError, "not_found", HTTPStatus.NOT_FOUND),
    (SessionNotFoundError, "not_found", HTTPStatus.NOT_FOUND),
    (PermissionDeniedError, "forbidden", HTTPStatus.FORBIDDEN),
    (TooLargeError, "too_large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (InvalidInputError, "invalid", HTTPStatus.BAD_REQUEST),
    (ConflictError, "conflict", HTTPStatus.CONFLICT),
    (LimitExceededError, "limit", HTTPStatus.TOO_MANY_REQUESTS),
    (StaleLeaseError, "stale", HTTPStatus.CONFLICT),
    (NotInstalledError, "not_installed", HTTPStatus.NOT_IMPLEMENTED),
    (UnavailableError, "unavailable", HTTPStatus.SERVICE_UNAVAILABLE),
    (UnexpectedError, "internal", HTTPStatus.INTERNAL_SERVER_ERROR),
)
OTHER = "error"
"""Code of all other errors."""


def error_code(error: AdkError) -> str:
    """Return the code of an error in frames and in responses of the API."""
    return next((code for kind, code, _ in CODES if isinstance(error, kind)), OTHER)


def http_status(error: AdkError) -> HTTPStatus:
    """Return the HTTP status of the response to a request that an error has refused."""
    found = (status for kind, _, status in CODES if isinstance(error, kind))
    return next(found, HTTPStatus.BAD_REQUEST)
