"""Webhooks of the caller: make, list, delete, test, and their deliveries."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema, Status
from pydantic import Field

from sessions_app.api.access.callers import Caller, caller_of
from sessions_app.api.idempotency import id_of_key
from sessions_app.api.pages import RowSchema
from sessions_app.base.codec import MAX_ID
from sessions_app.errors import InvalidInputError
from sessions_app.models import Scope, Webhook, WebhookDelivery, WebhookEvent
from sessions_app.models.webhook import URL_LENGTH
from sessions_app.process import celery_dispatch
from sessions_app.process.threads import fetch_rows, in_thread
from sessions_app.webhooks.changes import delete_webhook, find_webhook, make_webhook, stage_test

router = Router(tags=["webhooks"])
MAX_LISTED_WEBHOOKS = 200
DELIVERIES_ON_A_PAGE = 100
SubscribedEvent = Literal["run.ended", "approval.needed", "job.ended", "reading.unusual"]


class NewWebhook(Schema):
    """A new webhook.

    Attributes:
        user_id: the person whose sessions the webhook is about; null for the caller.
        is_of_group: true for the sessions of all people for whom a service's key acts, in place of one person's.
    """

    url: Annotated[str, Field(min_length=1, max_length=URL_LENGTH, examples=["https://example.org/hook"])]
    events: Annotated[list[SubscribedEvent], Field(min_length=1, max_length=4, examples=[["run.ended"]])]
    user_id: str | None = None
    is_of_group: bool = False


class WebhookSummary(RowSchema):
    """A webhook.

    Attributes:
        user_id: the person whose sessions the webhook is about; null for a webhook about those of a group.
        disabled_reason: why nothing is delivered since `disabled_at`; empty while the webhook is enabled.
    """

    id: UUID
    user_id: str | None
    url: str
    events: list[str]
    created_at: datetime
    disabled_at: datetime | None
    disabled_reason: str


class WebhookWithSecret(WebhookSummary):
    """A new webhook. Only the response to its creation contains `secret`."""

    secret: str


class Delivery(RowSchema):
    """One event for the webhook.

    Attributes:
        id: position in the list; `before` of the next page.
        message_id: the header `webhook-id`.
        next_at: time of the next attempt; null when there is none.
    """

    id: int
    message_id: UUID
    event: str
    subject: str
    attempts: int
    response_status: int | None
    error: str
    created_at: datetime
    delivered_at: datetime | None
    next_at: datetime | None


@router.get("/webhooks", response=list[WebhookSummary])
async def list_webhooks(request: HttpRequest) -> list[WebhookSummary]:
    """List the webhooks about the caller's sessions, and the webhooks made by the caller's key."""
    caller = caller_of(request, Scope.MANAGE)
    hooks = _hooks_of(caller).order_by("-created_at", "pk")[:MAX_LISTED_WEBHOOKS]
    return [_summary(hook) for hook in await fetch_rows(hooks)]


@router.post("/webhooks", response={201: WebhookWithSecret})
async def create_webhook(
    request: HttpRequest, body: NewWebhook, response: HttpResponse
) -> Status[WebhookWithSecret]:
    """Make a webhook. Only this response contains the secret that signs its deliveries."""
    caller = caller_of(request, Scope.MANAGE)
    if body.user_id is not None and body.is_of_group:
        raise InvalidInputError(
            "Send either user_id or is_of_group: a webhook is about one person or about all.",
            field="user_id",
        )
    user = caller.user if body.user_id is None else await caller.acting_for(body.user_id)
    events = [WebhookEvent(event) for event in body.events]
    hook, secret = await in_thread(
        make_webhook,
        user,
        body.url,
        events,
        caller.actor_for(user),
        caller.key,
        is_of_group=body.is_of_group,
        hook_id=id_of_key(request),
    )
    response["Cache-Control"] = "no-store"  # a response with a secret is not stored for repetitions
    return Status(201, WebhookWithSecret(**_summary(hook).dict(), secret=secret))


@router.delete("/webhooks/{webhook_id}", response={204: None})
async def remove_webhook(request: HttpRequest, webhook_id: UUID) -> Status[None]:
    """Delete a webhook with its deliveries."""
    caller = caller_of(request, Scope.MANAGE)
    await in_thread(delete_webhook, _hooks_of(caller), webhook_id, caller.actor_for(caller.user))
    return Status(204, None)


@router.post("/webhooks/{webhook_id}/test", response={202: Delivery})
async def test_webhook(request: HttpRequest, webhook_id: UUID) -> Status[Delivery]:
    """Deliver the event `test` to a webhook, soon."""
    caller = caller_of(request, Scope.MANAGE)
    delivery = await in_thread(stage_test, _hooks_of(caller), webhook_id, id_of_key(request))
    await celery_dispatch.aoffer_deliveries()
    return Status(202, Delivery.from_row(delivery))


@router.get("/webhooks/{webhook_id}/deliveries", response=list[Delivery])
async def list_deliveries(
    request: HttpRequest, webhook_id: UUID, before: Annotated[int | None, Field(ge=1, le=MAX_ID)] = None
) -> list[Delivery]:
    """List the deliveries to a webhook, the newest first; `before` is the `id` after which the next page begins."""
    hook = await in_thread(find_webhook, _hooks_of(caller_of(request, Scope.MANAGE)), webhook_id)
    rows = WebhookDelivery.objects.filter(webhook=hook).order_by("-pk")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    return [Delivery.from_row(row) for row in await fetch_rows(rows[:DELIVERIES_ON_A_PAGE])]


def _hooks_of(caller: Caller) -> QuerySet[Webhook]:
    # Webhooks with a session are the push notifications of A2A, which have their own methods.
    made = Q(made_by=caller.key) if caller.key else Q()
    return Webhook.objects.filter(made | Q(user=caller.user.pk), session=None)


def _summary(hook: Webhook) -> WebhookSummary:
    return WebhookSummary.from_row(hook, user_id=None if hook.people_id else str(hook.user_id))
