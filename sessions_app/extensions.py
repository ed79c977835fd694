"""Extension points of the site, for optional apps such as the ones of `sessions_app/contrib/`.

An installed app whose `AppConfig` is an `Extension` adds to the site what its methods return. Django itself finds an
app's commands, admin pages, templates and static files, and Celery its tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from django.apps import AppConfig, apps

if TYPE_CHECKING:  # apps are configured before models can be imported
    from ninja import Router

    from sessions_app.asgi.protocol import Application
    from sessions_app.models import WebhookDelivery
    from sessions_app.process.sweeping import Repair
    from sessions_app.webhooks.delivery import Push


class Extension(AppConfig):
    """Configuration of an optional app. A subclass overrides the methods for what its app adds.

    The subclass sets `default = True`: Django finds this class in its module, too, and would choose neither.
    """

    def streams(self) -> Mapping[str, Application]:
        """Return ASGI applications by route; they are served beside Django's handler."""
        return {}

    def adk_routers(self) -> Sequence[Router]:
        """Return routers of operations under `/adk/`."""
        return ()

    def repairs(self) -> Sequence[Repair]:
        """Return repairs for the sweep, which runs every few seconds."""
        return ()

    def housekeeping(self) -> Sequence[Callable[[], object]]:
        """Return steps of the daily housekeeping."""
        return ()

    async def push_of(self, delivery: WebhookDelivery) -> Push | None:
        """Return the push notification to deliver to the webhook of a session; None when there is nothing to tell."""
        return None


def extensions() -> list[Extension]:
    """Return the installed extensions, in the order of INSTALLED_APPS."""
    return [config for config in apps.get_app_configs() if isinstance(config, Extension)]
