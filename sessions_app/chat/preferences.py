"""Language and theme of a user, kept in cookies and not with the account: the sign-in page needs them, too."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from sessions_app.base.languages import THEME_COOKIE, THEMES

A_YEAR = 365 * 86_400


@require_POST
def save_preferences(request: HttpRequest) -> HttpResponseBase:
    """Set the cookies for `language` and `theme`, and redirect to the page `next` of this site.

    Unknown languages and themes are ignored.
    """
    response = set_language(request)  # Checks that `next` is on this site.
    theme = request.POST.get("theme", "")
    if theme in THEMES:
        response.set_cookie(
            THEME_COOKIE,
            theme,
            max_age=A_YEAR,
            secure=settings.LANGUAGE_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response
