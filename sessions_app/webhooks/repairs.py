"""Repair of deliveries: due ones are offered to a worker."""

from __future__ import annotations

from sessions_app.models import WebhookDelivery
from sessions_app.process.celery_dispatch import send_webhooks


def offer_due_deliveries(seconds: float) -> bool:
    """Ask a worker for a round when a delivery is due. Return False: the round makes all due deliveries."""
    if WebhookDelivery.objects.due().exists():
        send_webhooks()
    return False
