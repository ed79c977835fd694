"""Problem details (RFC 9457): JSON for programs whose request failed. People get a page with the same sentence.

`type` is `about:blank`, so `title` is the phrase of the status. `code` is for programs, `detail` is a sentence, and
`errors` names the invalid fields.

Operations raise errors, from which `api/access/problems.py` makes problem details. The middleware here covers refusals
without an operation: unknown addresses, methods, hosts, and types that the request does not accept.
"""

import json
from http import HTTPStatus
from typing import Any, cast

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from sessions_app.asgi.middleware import around_views
from sessions_app.errors import AlteredFileError, FilesUnavailableError, error_code, http_status
from sessions_app.rendering.sentences import in_language

CONTENT_TYPE = "application/problem+json"
JSON = "application/json"
HTML = "text/html"
API = "/api/v1/"
PROGRAMS = (API, "/adk/", "/a2a/", "/ag-ui/", "/mcp", "/slack/events")
"""Beginnings of the addresses for programs."""
READS = ("GET", "HEAD", "OPTIONS")
WITH_CONTENT = (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT)
CODES = {
    HTTPStatus.UNAUTHORIZED: "unauthorized",
    HTTPStatus.FORBIDDEN: "forbidden",
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method_not_allowed",
    HTTPStatus.NOT_ACCEPTABLE: "not_acceptable",
    HTTPStatus.PRECONDITION_FAILED: "changed",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "too_large",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "unsupported_media_type",
    HTTPStatus.INTERNAL_SERVER_ERROR: "internal",
    HTTPStatus.SERVICE_UNAVAILABLE: "unavailable",
}
"""Codes by status, for errors without their own code; `invalid` for all other statuses."""
NOTHING_HERE = "There is nothing at this address."
_DETAILS = {
    HTTPStatus.BAD_REQUEST: "The request cannot be read, or the site has no such host.",
    HTTPStatus.NOT_FOUND: NOTHING_HERE,
}


def problem(status: int, detail: str, code: str, **members: Any) -> HttpResponse:
    """Return a response with problem details.

    Args:
        detail: sentence about this problem.
        members: further members, such as `errors`.
    """
    status = HTTPStatus(status)
    fields = {"type": "about:blank", "title": status.phrase, "status": status, "code": code, "detail": detail}
    return HttpResponse(json.dumps({**fields, **members}), status=status, content_type=CONTENT_TYPE)


def refuse(request: HttpRequest, status: int, sentence: str, code: str) -> HttpResponse:
    """Return a page with the sentence if a person has opened the address in a browser, else problem details."""
    wanted = request.get_preferred_type([CONTENT_TYPE, HTML])
    if wanted == HTML and not is_for_programs(request.path_info):
        response = render(request, "chat/refused.html", {"sentence": sentence}, status=status)
    else:
        response = problem(status, sentence, code)
    patch_vary_headers(response, ["Accept"])
    return response


def method_not_allowed(allowed: str) -> HttpResponse:
    """Return 405, with `allowed` in the header `Allow`."""
    response = problem(HTTPStatus.METHOD_NOT_ALLOWED, _takes_only(allowed), "method_not_allowed")
    response["Allow"] = allowed
    return response


def is_for_programs(path: str) -> bool:
    """True for addresses of the API, of ADK's clients, of A2A and of MCP."""
    return path.startswith(PROGRAMS)


def unacceptable(media_type: str) -> HttpResponse:
    """Return 406: the request does not accept responses of this media type."""
    detail = f"The response is {media_type}: add it to Accept, or leave Accept out."
    return problem(HTTPStatus.NOT_ACCEPTABLE, detail, "not_acceptable")


def _unacceptable_write(request: HttpRequest) -> HttpResponse | None:
    """Return 406 for a write whose JSON response the program does not accept, else None."""
    # Before the operation: a program that gets 406 may assume that nothing was written. Reads are checked afterwards,
    # when the type of their response is known.
    if request.method in READS or not request.path_info.startswith(API) or request.accepts(JSON):
        return None
    return unacceptable(JSON)


def _as_problem(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if response.status_code in WITH_CONTENT and request.path_info.startswith(API):
        media_type = response.get("Content-Type", "").partition(";")[0]
        if not request.accepts(media_type):
            response.close()  # it may hold an open file
            return unacceptable(media_type)
    is_complete = response.status_code < HTTPStatus.BAD_REQUEST or "json" in response.get("Content-Type", "")
    if is_complete or not is_for_programs(request.path_info):
        return response
    page = cast(HttpResponse, response)  # No refusal is streamed.
    status = HTTPStatus(page.status_code)
    refusal = problem(status, _detail(page, status), CODES.get(status, "invalid"))
    page.content = refusal.content
    page["Content-Type"] = CONTENT_TYPE
    page["Content-Length"] = str(len(refusal.content))
    return page


def _detail(page: HttpResponse, status: HTTPStatus) -> str:
    if page.get("Content-Type", "").startswith("text/plain"):
        return page.content.decode().strip()
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return _takes_only(page["Allow"])
    return _DETAILS.get(status, f"{status.phrase}.")


def _takes_only(methods: str) -> str:
    return f"This address takes {methods} only."


def _files_cannot_be_had(request: HttpRequest, error: Exception) -> HttpResponse | None:
    if isinstance(error, FilesUnavailableError | AlteredFileError):
        return refuse(request, http_status(error), in_language(str(error)), error_code(error))
    return None


answer_with_problems = around_views(_unacceptable_write, _as_problem, _files_cannot_be_had)
"""Middleware that answers programs with problem details if the site refuses a request without running an operation.

It also answers 406 if a response of the API has a type that the request does not accept, and 503 or 409 to programs
and people if a view needs the storage of files, which does not answer or has another file.
"""
