"""Refusal of requests with NUL characters, which neither PostgreSQL nor a file name can hold.

No address of the site has one, so a single check replaces a check in each view.
"""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, gettext_noop

from sessions_app.asgi.middleware import before_views
from sessions_app.asgi.problem_details import is_for_programs, problem, refuse

SENTENCE = gettext_noop("The address or a cookie has a NUL character: remove it.")


def has_nul(request: HttpRequest) -> bool:
    """True if path, query string or a cookie contains NUL."""
    return bool(_place_of_nul(request))


def _place_of_nul(request: HttpRequest) -> str:
    """Return the name of the part of the request that contains NUL; empty if none does."""
    # Decoded cookies: quotes in a cookie may escape any byte.
    cookies = (*request.COOKIES, *request.COOKIES.values())
    found = {
        "path": "\0" in request.path,
        "query": "%00" in request.META.get("QUERY_STRING", ""),
        "cookie": any("\0" in text for text in cookies),
    }
    return next((place for place, has in found.items() if has), "")


def _refuse(request: HttpRequest) -> HttpResponse | None:
    if not has_nul(request):
        return None
    if is_for_programs(request.path_info):
        errors = [{"field": _place_of_nul(request), "message": SENTENCE}]
        refusal = problem(HTTPStatus.BAD_REQUEST, SENTENCE, "invalid", errors=errors)
        refusal["Content-Length"] = str(len(refusal.content))
        return refusal
    return refuse(request, HTTPStatus.BAD_REQUEST, gettext(SENTENCE), "invalid")


refuse_nul = before_views(_refuse)
"""Middleware that answers NUL in path, query string or cookies with 400. Forms and frames check their bodies."""
