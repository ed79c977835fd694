"""Context for the templates of Django's admin."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import ModelAdmin
from django.http import HttpRequest
from django.utils.functional import Promise


def page_context(model_admin: ModelAdmin[Any], request: HttpRequest, title: str | Promise) -> dict[str, Any]:
    """Return the common context of the pages of the admin. A page adds its own values."""
    return {
        **model_admin.admin_site.each_context(request),
        "title": title,
        "opts": model_admin.opts,
        "has_view_permission": model_admin.has_view_permission(request),
        "media": model_admin.media,
    }
