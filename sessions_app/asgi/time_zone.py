"""Middleware that activates the person's time zone, or the site's time zone while the person's is unknown."""

from django.http import HttpRequest
from django.utils import timezone

from sessions_app.asgi.middleware import before_views
from sessions_app.base.languages import time_zone_of


def _activate_time_zone(request: HttpRequest) -> None:
    if zone := time_zone_of(request.COOKIES):
        timezone.activate(zone)
    else:
        timezone.deactivate()  # the thread may have the zone of an earlier request


use_time_zone = before_views(_activate_time_zone)
