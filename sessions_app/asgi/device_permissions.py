"""Middleware that tells browsers which devices pages may use: the microphone for dictation, and no other."""

from django.http import HttpRequest, HttpResponseBase

from sessions_app.asgi.middleware import after_views
from sessions_app.conf import conf


def _limit(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    allowed = "(self)" if conf().voice else "()"
    response["Permissions-Policy"] = f"camera=(), geolocation=(), microphone={allowed}"
    return response


limit_devices = after_views(_limit)
