"""Problem details (RFC 9457) for the errors of operations and streams.

`_PROBLEMS` maps errors of Django and django-ninja to functions that make the response. All other errors become problem
details by their `public_error`.
"""

from collections.abc import Callable, Iterable
from http import HTTPStatus
from math import ceil
from typing import Any, cast

from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from sessions_app.asgi.problem_details import CODES, NOTHING_HERE, problem
from sessions_app.errors import (
    InvalidInputError,
    LimitExceededError,
    UnavailableError,
    UnexpectedError,
    error_code,
    http_status,
)
from sessions_app.process.failures import public_error

PLACES = ("body", "header", "path", "query")
"""Parts of a request with named fields."""
OF_VALIDATOR = "Value error, "
"""Prefix that pydantic adds to the message of a validator."""


def problem_of(error: Exception) -> HttpResponse:
    """Return the response for an error; see `public_error`."""
    for kind, make in _PROBLEMS:
        if isinstance(error, kind):
            return make(error)
    return _refused(error)


def add_problem_handlers(api: NinjaAPI) -> None:
    """Let the API answer all errors with problem details."""

    def handle(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
        return problem_of(cast(Exception, error))  # never a class

    # Also for the classes for which django-ninja has handlers.
    for kind in (Exception, Http404, HttpError, ValidationError):
        api.add_exception_handler(kind, handle)


def field_errors(errors: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the fields that pydantic refused, each with its message."""
    return [
        {"field": _field(*error["loc"]), "message": error["msg"].removeprefix(OF_VALIDATOR)}
        for error in errors
    ]


def _field(place: str, *steps: str | int) -> str:
    """Return the name of a field, such as `body.text`. A file counts as a field of the body."""
    if place == "body":
        # django-ninja puts the name of the operation's parameter after `body`; clients do not know it.
        steps = steps[1:]
    elif place == "file":
        place = "body"
    return ".".join(map(str, (place, *steps)))


def _with_place(field: str) -> str:
    if field.partition(".")[0] in PLACES:
        return field
    return f"body.{field}"


def _refused(cause: Exception) -> HttpResponse:
    error = public_error(cause, "A request of the API")
    members: dict[str, Any] = {}
    if isinstance(error, InvalidInputError) and error.field:
        members["errors"] = [{"field": _with_place(error.field), "message": str(error)}]
    if isinstance(error, UnexpectedError):
        members["reference"] = error.reference
    response = problem(http_status(error), str(error), error_code(error), **members)
    if isinstance(error, LimitExceededError | UnavailableError) and error.retry_seconds is not None:
        response["Retry-After"] = str(ceil(error.retry_seconds))
    return response


def _invalid(error: Any) -> HttpResponse:
    errors = field_errors(error.errors)
    # The sentence names three fields at most; `errors` has all.
    detail = "; ".join(f"{refused['field']}: {refused['message']}" for refused in errors[:3])
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{detail.removesuffix('.')}.", "invalid", errors=errors)


def _http_error(error: Any) -> HttpResponse:
    # django-ninja wraps what a parser raises into an HttpError with status 400.
    if isinstance(error.__cause__, ValidationError):
        return _invalid(error.__cause__)
    if isinstance(error.__cause__, HttpError):
        error = error.__cause__
    elif isinstance(error.__cause__, RecursionError):
        return _no_json(error.status_code, "its values are nested too deeply")
    elif isinstance(error.__cause__, ValueError):
        return _no_json(error.status_code, str(error.__cause__))
    detail = str(error)
    if detail == "Unauthorized":  # django-ninja's word for a request without a caller
        detail = "Sign in, or send an API key."
    response = problem(error.status_code, detail, CODES.get(error.status_code, "invalid"))
    if error.status_code == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = "Bearer"
    return response


def _no_json(status: int, reason: str) -> HttpResponse:
    errors = [{"field": "body", "message": reason}]
    return problem(status, f"The body is no JSON: {reason}.", "invalid", errors=errors)


def _not_found(error: Any) -> HttpResponse:
    return problem(HTTPStatus.NOT_FOUND, NOTHING_HERE, "not_found")


def _too_large(error: Any) -> HttpResponse:
    return problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The request is too large. Send files as uploads.", "too_large"
    )


def _unreadable(error: Any) -> HttpResponse:
    detail = "The body cannot be read. Send a form with its boundary, or JSON."
    return problem(
        HTTPStatus.BAD_REQUEST, detail, "invalid", errors=[{"field": "body", "message": str(error)}]
    )


_PROBLEMS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], Callable[[Any], HttpResponse]], ...] = (
    (ValidationError, _invalid),
    (HttpError, _http_error),
    (Http404, _not_found),
    (RequestDataTooBig, _too_large),
    ((MultiPartParserError, SuspiciousOperation, BadRequest), _unreadable),
)
