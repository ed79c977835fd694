"""Failed calls, read from the exceptions of a provider's client.

Each client has its own exceptions. A `FailureReader` turns them into a `CallFailure`: `RetryPolicy` decides by its kind
and status whether to try again, and its error has a sentence for users and, apart from it, the provider's text for
staff.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import httpx2

from runtime.errors import ModelError
from runtime.http_bodies import BodyTooLargeError


class UnreadableAnswer(Exception):  # named as the failure kinds
    """The fields of an answer are missing, or have other types than the protocol says."""


TRANSPORT_FAILURES = (
    json.JSONDecodeError,
    httpx2.TransportError,
    TimeoutError,
    UnreadableAnswer,
    BodyTooLargeError,
)
"""Exceptions raised below a provider's client, which does not wrap them."""

MAX_ANSWER_BYTES = 64_000_000
"""Decoded bytes of an answer, with all that its protocol adds: a stream takes hundreds of bytes for each token."""

_STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    413: "INVALID_ARGUMENT",
    422: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",  # Anthropic's "overloaded"
}

_OVERLOADED = "The model is overloaded. Try again in a moment."
_UNUSABLE = "The model cannot be used at the moment. Tell the people who run this site."
# Users read these sentences: the provider's own text may name projects, hosts and limits.
_SENTENCES = {
    "RESOURCE_EXHAUSTED": _OVERLOADED,
    "UNAVAILABLE": _OVERLOADED,
    "DEADLINE_EXCEEDED": "The model did not answer in time. Try again in a moment.",
    "INVALID_ARGUMENT": "The model refused the request. Try again, or begin a new chat.",
    "UNAUTHENTICATED": _UNUSABLE,
    "PERMISSION_DENIED": _UNUSABLE,
    "NOT_FOUND": _UNUSABLE,
    "INVALID_RESPONSE": "The model's server sent a response that cannot be read. Try again in a moment.",
    "ANSWER_TOO_LARGE": "The model's answer is too large.",
    "STREAM_CUT": "The connection to the model broke in the middle of its answer.",
}


@dataclass(frozen=True)
class CallFailure:
    """The failure of a call.

    Attributes:
        kind: `refused` if the server answered with an error; otherwise why no usable answer arrived.
        error: code, our sentence for users, and the provider's text.
        http_status: status of the server's answer; None without an answer.
        requested_delay: seconds the server asks to wait before the next attempt.
    """

    kind: Literal["refused", "timeout", "connection", "unreadable", "too large"]
    error: ModelError
    http_status: int | None = None
    requested_delay: float | None = None

    def in_stream(self) -> ModelError:
        """Return the error for an answer that broke off; a broken connection or chunk is a `STREAM_CUT`."""
        if self.kind in ("refused", "timeout", "too large"):
            return self.error
        return stream_cut(self.error.detail)


@dataclass(frozen=True)
class FailureReader:
    """Exceptions by which a client reports a failed call, and the function that reads them.

    Exceptions for wrong arguments are not included: they are errors in our code, and must not be retried.
    """

    exceptions: tuple[type[Exception], ...]
    read: Callable[[Exception], CallFailure]


@contextmanager
def reading_answer() -> Iterator[None]:
    """Turn an exception about a value of an answer into an `UnreadableAnswer`.

    Servers that imitate a provider may send anything, and clients pass it on without a check.
    """
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise UnreadableAnswer(repr(error)) from error


def sentence_for(code: str) -> str:
    """Return the sentence for users about a model error."""
    return _SENTENCES.get(code, "The model could not answer. Try again in a moment.")


def model_error(code: str, detail: str = "") -> ModelError:
    return ModelError(code, sentence_for(code), detail)


def stream_cut(detail: str = "") -> ModelError:
    """Return the error of an answer that ends without a finish reason."""
    return model_error("STREAM_CUT", detail)


def refused(
    http_status: int, detail: str, *, code: str | None = None, headers: Mapping[str, str] | None = None
) -> CallFailure:
    """Return the failure for an error status of the server; `code` defaults to the status's name."""
    error = model_error(code or status_name(http_status), detail)
    return CallFailure("refused", error, http_status, retry_after(headers or {}))


def timed_out(failure: Exception) -> CallFailure:
    return CallFailure("timeout", model_error("DEADLINE_EXCEEDED", repr(failure)))


def too_large(failure: BodyTooLargeError) -> CallFailure:
    return CallFailure("too large", model_error("ANSWER_TOO_LARGE", str(failure)))


def disconnected(failure: BaseException) -> CallFailure:
    # A client wraps whatever is raised while it reads an answer.
    if isinstance(failure, BodyTooLargeError):
        return too_large(failure)
    detail = f"The connection to the model failed: {failure!r}"
    return CallFailure("connection", model_error("UNAVAILABLE", detail))


def not_answered(failure: Exception) -> CallFailure:
    """Return the failure for an exception raised below a client, or for an unreadable answer."""
    match failure:
        case TimeoutError() | httpx2.TimeoutException():
            return timed_out(failure)
        case httpx2.TransportError() | BodyTooLargeError():
            return disconnected(failure)
    detail = f"The model's server sent a response that cannot be read: {failure}"
    return CallFailure("unreadable", model_error("INVALID_RESPONSE", detail))


def status_name(http_status: int) -> str:
    return _STATUS_NAMES.get(http_status, f"HTTP_{http_status}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in the `Retry-After` header, or None."""
    return parse_seconds(headers.get("retry-after", ""))


def parse_seconds(text: str) -> float | None:
    try:
        return float(text)
    # `Retry-After` may be a date; the policy's own delay is used then.
    except ValueError:
        return None
