"""Delivery of events to webhooks: at least once, signed, retried for a day.

A server may be slow, or may never answer. So a round runs `MAX_AT_ONCE` attempts at the same time, of which only
`MAX_PER_USER` are for the webhooks of a user and `MAX_PER_TARGET` for a server: others get the rest. A webhook that
fails also postpones its other deliveries that are due (back-off).

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

import asyncio
import json
import logging
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from httpcore2 import AsyncConnectionPool

from sessions_app.models import Webhook, WebhookDelivery
from sessions_app.process.celery_dispatch import request_deliveries
from sessions_app.process.threads import create_task, in_thread
from sessions_app.secrets.credential_encryption import decrypt_text
from sessions_app.webhooks.changes import delete_with_deliveries
from sessions_app.webhooks.signing import sign_delivery
from sessions_app.webhooks.targets import ForbiddenTargetError, PublicHosts

logger = logging.getLogger(__name__)
MAX_AT_ONCE = 50
"""Attempts of a process at the same time."""
MAX_PER_USER = 10
MAX_PER_TARGET = 10
ATTEMPT_SECONDS = 15.0
"""Time limit of an attempt, from resolving the name to the response."""
CLAIM_SECONDS = 60.0
"""Seconds after which a claimed delivery without an outcome is due again."""
PAUSES = (5, 60, 300, 1800, 7200, 14_400, 28_800, 36_000)
"""Seconds before each retry, about a day in total."""
KEPT = timedelta(days=30)
GONE = 410

# The running round and its task: asyncio holds only weak references to tasks. Empty while no round runs.
_rounds: "dict[asyncio.Task[int], Round]" = {}


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


PushOf = Callable[[WebhookDelivery], Awaitable[Push | DeliveryAttempt | None]]
"""Build the push notification of a delivery from the current state of its task; None if there is nothing to send.

The outcome of an attempt if the delivery was sent in another way.
"""


async def start_round(push_of: PushOf) -> None:
    """Start a round of deliveries; a round that is running in this process looks for due deliveries again."""
    if _rounds:
        for running in _rounds.values():
            running.look_again()
        return
    new = Round(push_of)
    task = create_task(new.run(), "deliver to webhooks")
    _rounds[task] = new
    task.add_done_callback(_rounds.pop)


class Round:
    """Attempts at the same time, until no delivery is due that may begin."""

    def __init__(self, push_of: PushOf) -> None:
        self._push_of = push_of
        self._running: dict[asyncio.Task[None], WebhookDelivery] = {}
        self._is_asked = asyncio.Event()

    def look_again(self) -> None:
        """Look for due deliveries now, even if no attempt has ended."""
        self._is_asked.set()

    async def run(self) -> int:
        """Run the round; return the number of its attempts."""
        attempts = 0
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._is_asked.clear()
                claimed = await self._claim()
                attempts += len(claimed)
                for delivery in claimed:
                    attempt = tasks.create_task(_deliver(delivery, self._push_of))
                    self._running[attempt] = delivery
                # Asked during the claim, which may have read the rows before: a delivery may have become due since.
                if not self._running and not self._is_asked.is_set():
                    return attempts
                await self._wait()

    async def _claim(self) -> list[WebhookDelivery]:
        try:
            return await in_thread(_claim_due, list(self._running.values()))
        except Exception:  # the running attempts continue
            logger.exception("Due deliveries to webhooks were not claimed; the sweep offers them again")
            return []

    async def _wait(self) -> None:
        """Wait until an attempt ends, or until somebody asks to look again."""
        asked = asyncio.create_task(self._is_asked.wait())
        await asyncio.wait([*self._running, asked], return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        self._running = {task: row for task, row in self._running.items() if not task.done()}


def delete_old_deliveries() -> None:
    """Delete ended deliveries older than `KEPT`."""
    WebhookDelivery.objects.filter(next_at=None, created_at__lt=Now() - KEPT).delete()


def offer_due_deliveries(seconds: float) -> bool:
    """Ask a worker for a round if a delivery is due. Return False: one round takes all due deliveries."""
    if WebhookDelivery.objects.due().exists():
        request_deliveries()
    return False


async def _deliver(delivery: WebhookDelivery, push_of: PushOf) -> None:
    try:
        # Only the configuration of a push notification belongs to a session.
        if delivery.webhook.session_id is None:
            await _deliver_event(delivery)
        else:
            await _deliver_push(delivery, await push_of(delivery))
    except Exception:  # one delivery must not hold up the others
        logger.exception("Delivery %s to a webhook failed; it is attempted again", delivery.message_id)


async def _deliver_event(delivery: WebhookDelivery) -> None:
    body = json.dumps(delivery.payload, separators=(",", ":")).encode()
    secret = decrypt_text(delivery.webhook.secret)
    headers = sign_delivery(secret, str(delivery.message_id), int(time.time()), body)
    attempt = await _post(delivery, body, headers)
    await in_thread(_record, delivery, attempt)


async def _deliver_push(delivery: WebhookDelivery, push: Push | DeliveryAttempt | None) -> None:
    if push is None:
        await in_thread(_end_delivery, delivery, "There was nothing to tell.")
        return
    if isinstance(push, DeliveryAttempt):
        await in_thread(_record, delivery, push)
        return
    attempt = await _post(delivery, push.body, push.headers)
    await in_thread(_record, delivery, attempt)
    # The row is the configuration of one task. Keep it while the last notification may still be retried.
    if push.is_last and not attempt.error:
        await in_thread(delete_with_deliveries, Webhook.objects.filter(pk=delivery.webhook_id))


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
        return DeliveryAttempt(None, f"There was no response within {ATTEMPT_SECONDS:g} s.")
    except ForbiddenTargetError as error:
        return DeliveryAttempt(None, str(error))
    except Exception as error:  # noqa: BLE001 - a foreign server may cause any error
        return DeliveryAttempt(None, f"The server could not be reached ({type(error).__name__}).")
    if 200 <= status < 300:
        return DeliveryAttempt(status)
    return DeliveryAttempt(status, f"The server answered with status {status}.")


def _claim_due(running: Sequence[WebhookDelivery]) -> list[WebhookDelivery]:
    """Claim due deliveries for this process, within the bounds that the running attempts leave.

    Ends deliveries that may not be sent, and returns the others.
    """
    while ids := _claim_ids(_Bounds(running)):
        claimed = WebhookDelivery.objects.filter(pk__in=ids)
        claimed = claimed.select_related("webhook__made_by", "webhook__user")
        if sendable := [delivery for delivery in claimed if _may_be_sent(delivery)]:
            return sendable
    return []


def _claim_ids(bounds: "_Bounds") -> list[int]:
    ids: list[int] = []
    with transaction.atomic():
        # Rounds of other processes skip the locked rows and claim the next rows.
        due = WebhookDelivery.objects.due().order_by("next_at", "pk")
        due = due.select_related("webhook").select_for_update(skip_locked=True, of=("self",))
        while bounds.free and (rows := list(bounds.select(due.exclude(pk__in=ids))[: bounds.free])):
            ids += [delivery.pk for delivery in rows if bounds.admit(delivery.webhook)]
        deadline = Now() + timedelta(seconds=CLAIM_SECONDS)
        WebhookDelivery.objects.filter(pk__in=ids).update(next_at=deadline, attempts=F("attempts") + 1)
    return ids


class _Bounds:
    """Numbers of attempts that may begin beside the running attempts: in all, of a user, and to a target."""

    def __init__(self, running: Sequence[WebhookDelivery]) -> None:
        self.free = MAX_AT_ONCE - len(running)
        self._of_user = Counter(delivery.webhook.user_id for delivery in running)
        self._of_target = Counter(delivery.webhook.target for delivery in running)
        self._refused_users: set[Any] = set()
        self._refused_urls: set[str] = set()

    def admit(self, hook: Webhook) -> bool:
        """Count the attempt; True if it may begin. Otherwise, `select` leaves out its like from now on."""
        if self._of_user[hook.user_id] >= MAX_PER_USER:
            self._refused_users.add(hook.user_id)
            return False
        if self._of_target[hook.target] >= MAX_PER_TARGET:
            self._refused_urls.add(hook.url)
            return False
        self._of_user[hook.user_id] += 1
        self._of_target[hook.target] += 1
        self.free -= 1
        return True

    def select(self, due: QuerySet[WebhookDelivery]) -> QuerySet[WebhookDelivery]:
        """Return the deliveries that `admit` has not refused."""
        due = due.exclude(webhook__user__in=self._refused_users)
        return due.exclude(webhook__url__in=self._refused_urls)


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
    # A process that was stopped for longer than its claim reports late: another attempt counts, or has delivered it.
    row = row.filter(attempts=delivery.attempts, delivered_at=None)
    # If anything was delivered since this event, the address works, and only this event is refused.
    others = WebhookDelivery.objects.filter(webhook=delivery.webhook_id)
    is_refused_alone = others.filter(delivered_at__gt=delivery.created_at).exists()
    # `attempts` includes this one, so the first failure takes the first pause. The pauses vary by a tenth: deliveries
    # that failed together must not come back together.
    if attempt.status != GONE and delivery.attempts <= len(PAUSES):
        pause = PAUSES[delivery.attempts - 1] * random.uniform(0.9, 1.1)  # noqa: S311 - no secret
        row.update(**outcome, next_at=Now() + timedelta(seconds=pause))
        if not is_refused_alone:
            # Back-off: these would fail, too, and keep the attempts of others waiting.
            others.due().update(next_at=Now() + timedelta(seconds=pause))
        return
    row.update(**outcome, next_at=None)
    if attempt.status == GONE:
        _disable(delivery.webhook, "The server answered that the address is gone (410).")
    elif not is_refused_alone:
        _disable(delivery.webhook, f"The webhook accepted nothing for a day. Last failure: {attempt.error}")


def _disable(hook: Webhook, reason: str) -> None:
    # The filter keeps the first reason when several deliveries fail at the same time.
    Webhook.objects.filter(pk=hook.pk, disabled_at=None).update(
        disabled_at=Now(), disabled_reason=reason[:500]
    )
