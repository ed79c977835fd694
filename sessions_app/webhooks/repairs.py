"""Repair of deliveries: send what is due to a worker."""

from __future__ import annotations

from sessions_app.celery_dispatch import send_webhooks
from sessions_app.models import WebhookDelivery


def offer_due_deliveries(seconds: float) -> bool:
    """Ask a worker to deliver when something is due."""
    if WebhookDelivery.objects.due().exists():
        send_webhooks()
    return False
