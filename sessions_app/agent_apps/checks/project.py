"""Django system check of the project in which this app is installed.

- E010  the database is not PostgreSQL
- E011  an app that this app uses is not installed
- E012  there is no channel layer
- E013  Celery has no broker
- E014  the URL configuration does not include the pages
- E015  the HTTP API is not at the root of the project
- W006  the channel layer does not reach other processes
- W007  Celery's beat does not sweep
- W008  the development server serves no websockets
- W009  limits are not shared by the processes
- W010  there is no sign-in page
- W011  the page of the HTTP API has no files
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from celery import current_app
from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage
from django.db import connections
from django.shortcuts import resolve_url
from django.urls import NoReverseMatch, Resolver404, get_script_prefix, resolve, reverse

from sessions_app.agent_apps.checks import check_error, check_warning
from sessions_app.process.celery_dispatch import SWEEP

NEEDED_APPS = ("auth", "contenttypes", "postgres", "sessions", "staticfiles")
IN_MEMORY = "channels.layers.InMemoryChannelLayer"


def check_project(app_configs: object = None, **kwargs: Any) -> list[CheckMessage]:
    """Check the project's database, apps, channel layer, Celery app and addresses. No connections are made."""
    return [*_problems_of_storage(), *_problems_of_channels(), *_problems_of_celery(), *_problems_of_pages()]


def _problems_of_storage() -> Iterator[CheckMessage]:
    if connections["default"].vendor != "postgresql":
        engine = connections["default"].settings_dict["ENGINE"]
        yield check_error(
            "E010",
            f"The database is {engine!r}: chats need PostgreSQL.",
            "Set DATABASES['default'] to a PostgreSQL database.",
        )
    for name in NEEDED_APPS:
        if not apps.is_installed(f"django.contrib.{name}"):
            yield check_error(
                "E011",
                f"'django.contrib.{name}' is not installed, and chats use it.",
                "Add it to INSTALLED_APPS.",
            )
    if not getattr(settings, "REDIS_URL", ""):
        yield check_warning(
            "W009",
            "Each process counts for itself what people use: there is no REDIS_URL.",
            "Set REDIS_URL, such as 'redis://localhost/0'.",
        )


def _problems_of_channels() -> Iterator[CheckMessage]:
    layer = getattr(settings, "CHANNEL_LAYERS", {}).get("default")
    redis = "Set CHANNEL_LAYERS['default'] to the backend 'channels_redis.pubsub.RedisPubSubChannelLayer'."
    if layer is None:
        yield check_error("E012", "There is no channel layer: answers would not reach browsers.", redis)
    elif layer.get("BACKEND") == IN_MEMORY:
        yield check_warning(
            "W006", "The channel layer does not reach other processes, such as workers.", redis
        )
    if not getattr(settings, "ASGI_APPLICATION", None):
        yield check_warning(
            "W008",
            "`manage.py runserver` serves no websockets: there is no ASGI_APPLICATION.",
            "Set it to the application of the project's asgi.py, and put 'daphne' first in INSTALLED_APPS.",
        )


def _problems_of_celery() -> Iterator[CheckMessage]:
    conf = current_app.conf
    if not conf.broker_url:
        yield check_error(
            "E013",
            "Celery has no broker: work that no web process runs would never start.",
            "Make a Celery app, import it in the project's __init__.py, and set CELERY_BROKER_URL.",
        )
    if not any(entry.get("task") == SWEEP for entry in conf.beat_schedule.values()):
        yield check_warning(
            "W007",
            f"Celery's beat does not run {SWEEP!r}: after a crash nobody would take up the work.",
            "Add it to CELERY_BEAT_SCHEDULE, every five seconds.",
        )


def _problems_of_pages() -> Iterator[CheckMessage]:
    try:
        reverse("chat:home")
    except NoReverseMatch:
        yield check_error(
            "E014",
            "The chat pages have no addresses.",
            "Add path('assistant/', include('sessions_app.urls')) to the URL configuration.",
        )
    try:
        page = urlsplit(resolve_url(settings.LOGIN_URL))
        if not page.netloc:  # The sign-in page may be on another site.
            resolve("/" + page.path.removeprefix(get_script_prefix()))
    except (NoReverseMatch, Resolver404):
        yield check_warning(
            "W010",
            f"Nobody can sign in: LOGIN_URL, {str(settings.LOGIN_URL)!r}, leads to no page.",
            "Set it to the address or the URL name of the sign-in page.",
        )

    with suppress(NoReverseMatch):  # The HTTP API is optional.
        address = reverse("api-v1:openapi-view")
        if not address.startswith(f"{get_script_prefix()}api/v1/"):
            yield check_error(
                "E015",
                f"The HTTP API is at {address!r}, where it has no streams and no problem details.",
                "Add path('', include('sessions_app.api.urls')) to the URL configuration of the root.",
            )
        if not apps.is_installed("ninja"):
            yield check_warning(
                "W011",
                "The page of the HTTP API, 'docs', loads its files from another site: 'ninja' is not installed.",
                "Add it to INSTALLED_APPS.",
            )
