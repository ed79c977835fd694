"""Extension points of the site for optional apps, such as the apps in `sessions_app/contrib/`.

An app extends the site if its `AppConfig` is an `Extension`. The site asks the extensions that are installed, so it
need not import their apps. An app's commands, admin pages, templates, static files and Celery tasks need no extension
point: Django and Celery find them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from django.apps import AppConfig, apps

if TYPE_CHECKING:  # apps are configured before models can be imported
    from ninja import Router

    from sessions_app.asgi.protocol import Application
    from sessions_app.models import WebhookDelivery
    from sessions_app.process.sweeping import Repair
    from sessions_app.webhooks.delivery import DeliveryAttempt, Push


class Page(NamedTuple):
    """A page of an extension; see `django.urls.path`."""

    route: str
    view: Callable[..., Any]
    name: str


class SettingsLink(NamedTuple):
    """Link on the page of a user's settings to a page of an extension.

    Attributes:
        name: name of the page.
        title: translated words of the link.
        about: translated sentence on the page.
    """

    name: str
    title: str
    about: str


class Extension(AppConfig):
    """Configuration of an optional app. Override the methods for the parts of the site that the app extends.

    A subclass has to set `default = True`. Its module imports this class as well, and between two configurations Django
    would choose neither.
    """

    def streams(self) -> Mapping[str, "Application"]:
        """Return ASGI applications by route, for requests that Django's handler should not serve."""
        return {}

    def pages(self) -> Sequence[Page]:
        """Return pages of the site, in the namespace `chat`."""
        return ()

    def settings_links(self, user: Any) -> Sequence[SettingsLink]:
        """Return links to pages of the extension that the user has a use for."""
        return ()

    def adk_routers(self) -> Sequence["Router"]:
        """Return routers of operations under `/adk/`."""
        return ()

    def repairs(self) -> Sequence["Repair"]:
        """Return repairs for the sweep, which runs every few seconds."""
        return ()

    def housekeeping(self) -> Sequence[Callable[[], object]]:
        """Return steps of the daily housekeeping."""
        return ()

    async def push_of(self, delivery: "WebhookDelivery") -> "Push | DeliveryAttempt | None":
        """Return the push notification for a delivery to the webhook of a session; None to send nothing.

        An extension that sends by a client of its own returns the outcome instead.
        """
        return None


def extensions() -> list[Extension]:
    """Return the installed extensions, in the order of INSTALLED_APPS."""
    return [config for config in apps.get_app_configs() if isinstance(config, Extension)]
