"""Delivery of events to webhooks: at least once, signed, retried for a day.

Database triggers insert the deliveries (`adk_stage_deliveries`) in the transaction of the event, so both are stored or
neither is. The sweep asks a Celery worker for a round when a delivery is due. The task starts the round on the event
loop of its process and returns: a slow server holds up no worker. `next_at` is the only state of a delivery:

    due (next_at in the past)
      | claim: next_at = now + CLAIM_SECONDS, attempts + 1
    claimed --- the process dies ----------------------> due again after CLAIM_SECONDS
      |--- status 2xx ---------------------------------> delivered (next_at NULL, delivered_at set)
      |--- any other result, retries left -------------> due again after the next of PAUSES
      '--- status 410, last retry, or may not be sent -> ended (next_at NULL, error set)

An attempt whose outcome is lost is repeated, so receivers must ignore a `webhook-id` they have seen.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from httpcore2 import AsyncConnectionPool

from sessions_app.models import Webhook, WebhookDelivery
from sessions_app.process.celery_dispatch import send_webhooks
from sessions_app.process.threads import create_task, in_thread
from sessions_app.secrets.credential_encryption import decrypt_text
from sessions_app.webhooks.signing import sign_delivery
from sessions_app.webhooks.targets import ForbiddenTargetError, PublicHosts

logger = logging.getLogger(__name__)
BATCH_SIZE = 50
ATTEMPT_SECONDS = 15.0
"""Time limit of an attempt, from resolving the name to the response."""
CLAIM_SECONDS = 60.0
"""Seconds after which a claimed delivery without an outcome is due again."""
PAUSES = (5, 60, 300, 1800, 7200, 14_400, 28_800, 36_000)
"""Seconds before each retry, about a day in total."""
KEPT = timedelta(days=30)
GONE = 410

# Reference to the running round: asyncio holds only weak references to tasks. Empty while no round runs.
_rounds: set[asyncio.Task[None]] = set()


@dataclass(frozen=True)
class DeliveryAttempt:
    """Outcome of an attempt.

    Attributes:
        status: HTTP status of the response; None without a response.
        error: sentence with the reason of a failure; empty if the server accepted the delivery.
    """

    status: int | None
    error: str = ""


@dataclass(frozen=True)
class Push:
    """A push notification of A2A.

    Attributes:
        headers: id of the delivery, and the authentication configured by the program.
        is_last: True if the task has ended: no other notification follows.
    """

    body: bytes
    headers: Mapping[str, str]
    is_last: bool


PushOf = Callable[[WebhookDelivery], Awaitable[Push | None]]
"""Build the push notification of a delivery from the current state of its task; None if there is nothing to send."""


async def start_round(push_of: PushOf) -> None:
    """Start a round of deliveries unless a round is running in this process."""
    if not _rounds:
        task = create_task(_deliver_due(push_of), "deliver to webhooks")
        _rounds.add(task)
        task.add_done_callback(_rounds.discard)


async def deliver_due(push_of: PushOf | None = None) -> int:
    """Attempt up to `BATCH_SIZE` due deliveries; return the number of attempts."""
    claimed = await in_thread(_claim_due)
    await asyncio.gather(*[_deliver(delivery, push_of) for delivery in claimed])
    return len(claimed)


def delete_old_deliveries() -> None:
    """Delete ended deliveries older than `KEPT`."""
    WebhookDelivery.objects.filter(next_at=None, created_at__lt=Now() - KEPT).delete()


def offer_due_deliveries(seconds: float) -> bool:
    """Ask a worker for a round if a delivery is due. Return False: one round takes all due deliveries."""
    if WebhookDelivery.objects.due().exists():
        send_webhooks()
    return False


async def _deliver_due(push_of: PushOf) -> None:
    try:
        attempts = BATCH_SIZE
        # A full batch may have left more due deliveries behind.
        while attempts == BATCH_SIZE:
            attempts = await deliver_due(push_of)
    except Exception:
        logger.exception("A round of deliveries to webhooks failed; the sweep offers the deliveries again")


async def _deliver(delivery: WebhookDelivery, push_of: PushOf | None) -> None:
    try:
        # Only the configuration of a push notification belongs to a session.
        if delivery.webhook.session_id is None:
            await _deliver_event(delivery)
        else:
            await _deliver_push(delivery, await push_of(delivery) if push_of else None)
    except Exception:  # one delivery must not hold up the others
        logger.exception("Delivery %s to a webhook failed; it is attempted again", delivery.message_id)


async def _deliver_event(delivery: WebhookDelivery) -> None:
    body = json.dumps(delivery.payload, separators=(",", ":")).encode()
    secret = decrypt_text(delivery.webhook.secret)
    headers = sign_delivery(secret, str(delivery.message_id), int(time.time()), body)
    attempt = await _post(delivery, body, headers)
    await in_thread(_record, delivery, attempt)


async def _deliver_push(delivery: WebhookDelivery, push: Push | None) -> None:
    if push is None:
        await in_thread(_end_delivery, delivery, "There was nothing to tell.")
        return
    attempt = await _post(delivery, push.body, push.headers)
    await in_thread(_record, delivery, attempt)
    # The row is the configuration of one task. Keep it while the last notification may still be retried.
    if push.is_last and not attempt.error:
        await in_thread(delivery.webhook.delete)


async def _post(delivery: WebhookDelivery, body: bytes, own_headers: Mapping[str, str]) -> DeliveryAttempt:
    """Send the delivery and return its outcome. Ignores the body of the response; a redirect is a failure."""
    hook = delivery.webhook
    headers = [("content-type", "application/json"), ("user-agent", "adk-webhooks"), *own_headers.items()]
    try:
        async with (
            asyncio.timeout(ATTEMPT_SECONDS),
            # A pool for each attempt: each connection resolves the name and checks its addresses again.
            AsyncConnectionPool(network_backend=PublicHosts()) as pool,
            pool.stream("POST", hook.url, headers=headers, content=body) as response,
        ):
            status = int(response.status)
    except TimeoutError:
        return DeliveryAttempt(None, f"There was no response within {ATTEMPT_SECONDS:g} seconds.")
    except ForbiddenTargetError as error:
        return DeliveryAttempt(None, str(error))
    except Exception as error:  # noqa: BLE001 - a foreign server may cause any error
        return DeliveryAttempt(None, f"The server could not be reached ({type(error).__name__}).")
    if 200 <= status < 300:
        return DeliveryAttempt(status)
    return DeliveryAttempt(status, f"The server answered with status {status}.")


def _claim_due() -> list[WebhookDelivery]:
    """Claim due deliveries for this process. End deliveries that may not be sent, and return the others."""
    with transaction.atomic():
        # Rounds of other processes skip the locked rows and claim the next rows.
        due = WebhookDelivery.objects.due().order_by("next_at").select_for_update(skip_locked=True)
        ids = list(due.values_list("pk", flat=True)[:BATCH_SIZE])
        deadline = Now() + timedelta(seconds=CLAIM_SECONDS)
        WebhookDelivery.objects.filter(pk__in=ids).update(next_at=deadline, attempts=F("attempts") + 1)
    claimed = WebhookDelivery.objects.filter(pk__in=ids).select_related("webhook__made_by", "webhook__user")
    return [delivery for delivery in claimed if _may_be_sent(delivery)]


def _may_be_sent(delivery: WebhookDelivery) -> bool:
    """True if the delivery may be sent; ends the delivery otherwise.

    Disables a webhook whose key was revoked or has expired, or whose account is not active.
    """
    hook = delivery.webhook
    reason = _reason_to_disable(hook)
    if reason:
        _disable(hook, reason)
    else:
        reason = _reason_to_drop(delivery)
    if reason:
        _end_delivery(delivery, reason)
    return not reason


def _reason_to_disable(hook: Webhook) -> str:
    if hook.made_by is not None and not hook.made_by.acts_for(hook.user_id):
        return "The API key that made the webhook has ended, or no longer acts for the person."
    if not hook.user.is_active:
        return "The account is not active."
    return ""


def _reason_to_drop(delivery: WebhookDelivery) -> str:
    """Return why to drop this delivery but keep its webhook enabled; empty to send it."""
    hook = delivery.webhook
    user_pk = delivery.payload["data"].get("user_id")
    # The group may have changed since the trigger inserted the delivery.
    if hook.people_id and user_pk and not (hook.made_by and hook.made_by.acts_for(user_pk)):
        return "The API key that made the webhook no longer acts for the person."
    if hook.disabled_at is not None:
        return hook.disabled_reason or "The webhook is disabled."
    return ""


def _end_delivery(delivery: WebhookDelivery, reason: str) -> None:
    WebhookDelivery.objects.filter(pk=delivery.pk).update(next_at=None, error=reason)


def _record(delivery: WebhookDelivery, attempt: DeliveryAttempt) -> None:
    """Store the outcome. Disable the webhook if its address is gone, or if it accepted nothing during all retries."""
    row = WebhookDelivery.objects.filter(pk=delivery.pk)
    outcome = {"response_status": attempt.status, "error": attempt.error}
    if not attempt.error:
        row.update(**outcome, next_at=None, delivered_at=Now())
        return
    # `attempts` includes this one, so the first failure takes the first pause. The pauses vary by a tenth: deliveries
    # that failed together must not come back together.
    if attempt.status != GONE and delivery.attempts <= len(PAUSES):
        pause = PAUSES[delivery.attempts - 1] * random.uniform(0.9, 1.1)  # noqa: S311 - no secret
        row.update(**outcome, next_at=Now() + timedelta(seconds=pause))
        return
    row.update(**outcome, next_at=None)
    # If anything was delivered since this event, the address works, and only this event is refused: keep the webhook.
    later = WebhookDelivery.objects.filter(webhook=delivery.webhook_id, delivered_at__gt=delivery.created_at)
    if attempt.status == GONE:
        _disable(delivery.webhook, "The server answered that the address is gone (410).")
    elif not later.exists():
        _disable(delivery.webhook, f"The webhook accepted nothing for a day. Last failure: {attempt.error}")


def _disable(hook: Webhook, reason: str) -> None:
    # The filter keeps the first reason when several deliveries fail at the same time.
    Webhook.objects.filter(pk=hook.pk, disabled_at=None).update(
        disabled_at=Now(), disabled_reason=reason[:500]
    )
