"""Middleware: pages show times in the browser's time zone, or in that of the site while it is not known."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils import timezone

from sessions_app.asgi.before_views import before_views
from sessions_app.base.languages import browser_time_zone


def _activate_time_zone(request: HttpRequest) -> None:
    if zone := browser_time_zone(request.COOKIES):
        timezone.activate(zone)
    else:
        timezone.deactivate()


use_time_zone = before_views(_activate_time_zone)
