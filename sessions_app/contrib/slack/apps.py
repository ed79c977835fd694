"""Django app configuration. The methods import when called: the modules need the optional package `slack-bolt`."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sessions_app.extensions import Extension, Page

if TYPE_CHECKING:
    from sessions_app.asgi.protocol import Application
    from sessions_app.models import WebhookDelivery
    from sessions_app.webhooks.delivery import DeliveryAttempt


class SlackConfig(Extension):
    """Lets people talk to agents in Slack."""

    default = True
    name = "sessions_app.contrib.slack"
    label = "adk_slack"
    verbose_name = "Slack"

    def streams(self) -> Mapping[str, "Application"]:
        from sessions_app.contrib.slack.endpoint import ROUTE, slack_events

        return {ROUTE: slack_events}

    def pages(self) -> Sequence[Page]:
        from sessions_app.contrib.slack.linking import link

        return [Page("slack/link/<str:token>/", link, "link_slack")]

    async def push_of(self, delivery: "WebhookDelivery") -> "DeliveryAttempt | None":
        if find_spec("slack_sdk") is None:
            return None
        from sessions_app.contrib.slack.posting import post_news

        return await post_news(delivery)
