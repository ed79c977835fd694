"""Middleware: the admin is English. Its pages about sessions have no translation, and would mix two languages."""

from __future__ import annotations

from django.http import HttpRequest
from django.urls import reverse
from django.utils import translation

from sessions_app.asgi.before_views import before_views


def _activate_english(request: HttpRequest) -> None:
    if request.path.startswith(reverse("admin:index")):
        translation.activate("en")


use_english_in_admin = before_views(_activate_english)
