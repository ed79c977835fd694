"""Rounds of deliveries to webhooks that a test waits for."""

from __future__ import annotations

from sessions_app.models import WebhookDelivery
from sessions_app.webhooks.delivery import PushOf, Round


async def push_nothing(row: WebhookDelivery) -> None:
    return None


async def deliver_due(push_of: PushOf = push_nothing) -> int:
    """Attempt all due deliveries; return the number of attempts."""
    return await Round(push_of).run()
