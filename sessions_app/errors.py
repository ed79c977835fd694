"""Errors of the site, below the runtime's `AdkError`, with the code and the HTTP status of each.

The docstring of an error is its default message: a user or a program may read it.
"""

from http import HTTPStatus
from typing import ClassVar

from django.utils.translation import gettext_noop

from runtime.errors import AdkError, SessionNotFoundError


class SiteError(AdkError):
    """The site refused a request.

    Attributes:
        code: code of the error in frames and in responses of the API.
        status: HTTP status of the response to a request that the error has refused.
    """

    code: ClassVar[str] = "error"
    status: ClassVar[HTTPStatus] = HTTPStatus.BAD_REQUEST


class NotFoundError(SiteError):
    """There is no such object, or it belongs to another user."""

    code = "not_found"
    status = HTTPStatus.NOT_FOUND


class PermissionDeniedError(SiteError):
    """You do not have permission to do this."""

    code = "forbidden"
    status = HTTPStatus.FORBIDDEN


class SecondPersonError(PermissionDeniedError):
    """A second member of staff must agree to this erasure first: ask on its page in the admin."""


class AgentClosedError(PermissionDeniedError):
    """You may not use this agent, or not any more. You can still read the chat."""


class InvalidInputError(SiteError):
    """The input is invalid.

    Attributes:
        field: name of the invalid field in the request's body. Another field is named with its place, such as
            `header.Idempotency-Key`. Empty when no field is to blame.
    """

    code = "invalid"
    status = HTTPStatus.BAD_REQUEST

    def __init__(self, message: str | None = None, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class TooLargeError(InvalidInputError):
    """The input is too large."""

    code = "too_large"
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class ConflictError(SiteError):
    """The request conflicts with the current state: refresh and try again."""

    code = "conflict"
    status = HTTPStatus.CONFLICT


class StateChangedError(ConflictError):
    """The state has changed since it was read. Nothing was overwritten: look at the new values."""


class LegalHoldError(ConflictError):
    """A legal hold forbids to erase this."""


class StaleLeaseError(SiteError):
    """Another process has taken over the session; this one may no longer write to it."""

    code = "stale"
    status = HTTPStatus.CONFLICT


class LimitExceededError(SiteError):
    """A limit of the site is exceeded."""

    code = "limit"
    status = HTTPStatus.TOO_MANY_REQUESTS

    def __init__(self, message: str | None = None, *, retry_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds  # None when nobody knows when to try again


class NotResumableError(SiteError):
    """An interrupted invocation cannot be resumed from its events."""


class UnavailableError(SiteError):
    """The database does not answer. Try again."""

    code = "unavailable"
    status = HTTPStatus.SERVICE_UNAVAILABLE

    retry_seconds = 5.0


class FilesUnavailableError(UnavailableError, OSError):
    """The storage of files does not answer. Try again."""

    # An `OSError`, too: jobs with `retry_on=OSError` retry.
    def __init__(self) -> None:
        super().__init__(gettext_noop("The storage of files does not answer. Try again."))


class AlteredFileError(ConflictError):
    """This file is not the one that was stored. Ask the people who run this site."""

    def __init__(self, message: str = "") -> None:
        super().__init__(
            message
            or gettext_noop("This file is not the one that was stored. Ask the people who run this site.")
        )


class LostPackError(AlteredFileError):
    """The archive of this chat is missing or was changed. Ask the people who run this site."""

    def __init__(self) -> None:
        super().__init__(
            gettext_noop(
                "The archive of this chat is missing or was changed. Ask the people who run this site."
            )
        )


class NotInstalledError(SiteError):
    """This part of the site needs a package or a setting that it does not have."""

    code = "not_installed"
    status = HTTPStatus.NOT_IMPLEMENTED


class UnexpectedError(SiteError):
    """Something went wrong. Try again.

    Attributes:
        reference: names the traceback in the log.
    """

    code = "internal"
    status = HTTPStatus.INTERNAL_SERVER_ERROR

    def __init__(self, reference: str) -> None:
        super().__init__(gettext_noop("Something went wrong (reference {0}). Try again.").format(reference))
        self.reference = reference


class AgentChangedError(SiteError):
    """The agent has changed since it made a call, and cannot go on with the answer."""


class AgentFolderError(SiteError):
    """An agent folder cannot be served; the other apps of the site are."""


def error_code(error: AdkError) -> str:
    """Return the code of an error in frames and in responses of the API."""
    return _site_error(error).code


def http_status(error: AdkError) -> HTTPStatus:
    """Return the HTTP status of the response to a request that an error has refused."""
    return _site_error(error).status


def _site_error(error: AdkError) -> SiteError | type[SiteError]:
    """Return the error, or the class of the site that stands for an error of the runtime."""
    if isinstance(error, SiteError):
        return error
    if isinstance(error, SessionNotFoundError):
        return NotFoundError
    return SiteError
