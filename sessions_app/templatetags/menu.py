"""Menu of the admin, which stands on each of its pages.

Django renders the rows of all models again for each page, which takes half of the CPU time of a page. Most pages have
the menu of an earlier page, so its HTML is kept for each content.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from django import template
from django.template import Context
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

register = template.Library()


@dataclass(frozen=True)
class Entry:
    """Row of a model. A URL is None for users who lack the permission."""

    key: str
    name: str
    url: str | None
    add_url: str | None
    is_view_only: bool
    is_current: bool


@dataclass(frozen=True)
class Group:
    """Part of the menu with a title."""

    label: str
    name: str
    url: str
    is_current: bool
    entries: tuple[Entry, ...]


@register.simple_tag(takes_context=True)
def menu(context: Context) -> SafeString:
    """Return the menu of `app_list`, which is a list as of `AdminSite.get_app_list`, for `admin/app_list.html`."""
    path = quote(context["request"].path)
    groups = tuple(_group(app, path) for app in context.get("app_list") or ())
    return _render(groups, bool(context.get("show_changelinks")), get_language())


def _group(app: Mapping[str, Any], path: str) -> Group:
    return Group(
        label=app["app_label"],
        name=str(app["name"]),
        url=app["app_url"],
        is_current=app["app_url"] in path,
        entries=tuple(_entry(model, path) for model in app["models"]),
    )


def _entry(model: Mapping[str, Any], path: str) -> Entry:
    url: str | None = model.get("admin_url")
    return Entry(
        key=model["object_name"].lower(),
        name=str(model["name"]),
        url=url,
        add_url=model.get("add_url"),
        is_view_only=bool(model.get("view_only")),
        is_current=url is not None and url in path,
    )


@lru_cache(maxsize=256)  # a few kilobytes each
def _render(groups: tuple[Group, ...], has_change_links: bool, language: str) -> SafeString:
    """Return the HTML. `language` is that of the template's own words."""
    return render_to_string(
        "admin/sessions_app/menu.html", {"groups": groups, "has_change_links": has_change_links}
    )
