"""Middleware that shows the admin in English: its pages about sessions are not translated."""

from django.http import HttpRequest
from django.urls import reverse
from django.utils import translation

from sessions_app.asgi.middleware import before_views


def _activate_english(request: HttpRequest) -> None:
    # Django's own words are translated: without this, pages would mix two languages.
    if request.path.startswith(reverse("admin:index")):
        translation.activate("en")


use_english_in_admin = before_views(_activate_english)
