"""Language, theme and time zone of a user.

They are kept in cookies and not with the account: the sign-in page needs them, too.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from sessions_app.base.languages import (
    CHOSEN_TIME_ZONE_COOKIE,
    THEME_COOKIE,
    THEMES,
    offered_time_zones,
)

A_YEAR = 365 * 86_400


@require_POST
def save_preferences(request: HttpRequest) -> HttpResponseBase:
    """Set the cookies for `language`, `theme` and `time_zone`, and redirect to the page `next` of this site.

    Unknown values are ignored. An empty time zone stands for that of the browser.
    """
    response = set_language(request)  # Checks that `next` is on this site.
    if request.POST.get("theme") in THEMES:
        _set_cookie(response, THEME_COOKIE, request.POST["theme"])
    zone = request.POST.get("time_zone")
    if zone == "":
        response.delete_cookie(CHOSEN_TIME_ZONE_COOKIE, samesite="Lax")
    elif zone in offered_time_zones():
        _set_cookie(response, CHOSEN_TIME_ZONE_COOKIE, zone)
    return response


def _set_cookie(response: HttpResponseBase, name: str, value: str) -> None:
    response.set_cookie(
        name,
        value,
        max_age=A_YEAR,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
