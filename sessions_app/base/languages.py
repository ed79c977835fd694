"""Languages, time zones and themes: the site's offer, and the choice of the person behind a request.

Pages get language and time zone from Django's `LocaleMiddleware` and from `sessions_app.asgi.time_zone`. Websockets and
event streams pass no middleware of Django, and get both from here.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs
from zoneinfo import available_timezones

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone, translation

from sessions_app.base.timing import zone_of
from sessions_app.errors import InvalidInputError

TRANSLATED = ("en", "de", "es", "ar")
"""Codes of English, in which the sentences are written, and of the languages with a catalogue in `locale/`."""
THEMES = ("system", "light", "dark")
THEME_COOKIE = "adk_theme"
LOCALE_MIDDLEWARE = "django.middleware.locale.LocaleMiddleware"
TIME_ZONE_COOKIE = "adk_time_zone"
"""Set by `chat/time_zone.js`."""
CHOSEN_TIME_ZONE_COOKIE = "adk_chosen_time_zone"
"""Set by the person in the settings."""
MAX_ZONE_NAME_LENGTH = 64
AREAS = (
    "Africa/", "America/", "Antarctica/", "Arctic/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/",
    "Pacific/", "UTC",
)  # fmt: skip
"""Beginnings of the offered time zones. All others are old names and offsets."""


def offered_languages() -> list[str]:
    """Return the codes of the languages to choose from; empty in a project without translated pages."""
    codes = {code for code, _ in settings.LANGUAGES} if LOCALE_MIDDLEWARE in settings.MIDDLEWARE else set()
    return [code for code in TRANSLATED if code in codes]


def shown_language() -> str:
    """Return the code of the language of the sentences: English for a language without a catalogue."""
    return translation.pgettext("code of the language of this catalogue", "en")


def chosen_theme(cookies: Mapping[str, str]) -> str:
    """Return the person's theme, an item of `THEMES`."""
    theme = cookies.get(THEME_COOKIE, "")
    return theme if theme in THEMES else "system"


def activate_for_connection(scope: Mapping[str, Any]) -> None:
    """Activate the language and the time zone of a websocket or an event stream in its own asyncio task."""
    translation.activate(language_of(scope))
    timezone.activate(time_zone_of(scope.get("cookies", {})) or settings.TIME_ZONE)


def language_of(scope: Mapping[str, Any]) -> str:
    """Return the language of a connection: that of the page, which names it, or the site's without the middleware."""
    if LOCALE_MIDDLEWARE not in settings.MIDDLEWARE:
        return settings.LANGUAGE_CODE
    query = parse_qs(scope.get("query_string", b"").decode("ascii", "replace"))
    of_page: str = query.get("language", [""])[0]
    if of_page in dict(settings.LANGUAGES):
        return of_page
    # Django chooses the language of a page by cookie and header of a request: the same call for a connection.
    request = HttpRequest()
    request.COOKIES = scope.get("cookies", {})
    accepted = dict(scope["headers"]).get(b"accept-language", b"")
    request.META["HTTP_ACCEPT_LANGUAGE"] = accepted.decode("latin-1")
    return translation.get_language_from_request(request)


@lru_cache(maxsize=1)
def offered_time_zones() -> tuple[str, ...]:
    """Return the names of the time zones to choose from."""
    return tuple(sorted(name for name in available_timezones() if name.startswith(AREAS)))


def chosen_time_zone(cookies: Mapping[str, str]) -> str:
    """Return the name of the time zone that the person has chosen; empty for that of the browser."""
    name = cookies.get(CHOSEN_TIME_ZONE_COOKIE, "")
    return name if name in offered_time_zones() else ""


def time_zone_of(cookies: Mapping[str, str]) -> str:
    """Return the name of the person's time zone, chosen or the browser's; empty without a valid time zone."""
    if chosen := chosen_time_zone(cookies):
        return chosen
    name = cookies.get(TIME_ZONE_COOKIE, "")
    if not name or len(name) > MAX_ZONE_NAME_LENGTH:
        return ""
    try:
        return zone_of(name).key
    except InvalidInputError:  # A cookie can hold anything.
        return ""
