"""Django app configuration. The methods import when called: the modules need the optional package `a2a-sdk`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sessions_app.extensions import Extension

if TYPE_CHECKING:
    from sessions_app.asgi.protocol import Application
    from sessions_app.models import WebhookDelivery
    from sessions_app.webhooks.delivery import Push


class A2AConfig(Extension):
    """Serves agents by the Agent-to-Agent protocol."""

    default = True
    name = "sessions_app.contrib.a2a"
    label = "adk_a2a"
    verbose_name = "Agent-to-Agent protocol"

    def streams(self) -> Mapping[str, "Application"]:
        from sessions_app.contrib.a2a.endpoint import AGENT_ROUTE, CARD_ROUTE, agent, agent_card

        return {AGENT_ROUTE: agent, CARD_ROUTE: agent_card}

    async def push_of(self, delivery: "WebhookDelivery") -> "Push | None":
        from sessions_app.contrib.a2a.push import push_of

        return await push_of(delivery)
