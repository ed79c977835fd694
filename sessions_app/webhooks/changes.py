"""Creation and deletion of webhooks, recorded as acts, and deliveries to chosen webhooks: tests and alerts."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from sessions_app.base.actors import Act, ActionKind, Actor
from sessions_app.errors import ConflictError, InvalidInputError, LimitExceededError, NotFoundError
from sessions_app.models import AccountAct, ApiKey, Webhook, WebhookDelivery, WebhookEvent
from sessions_app.secrets.credential_encryption import encrypt_text
from sessions_app.webhooks.signing import new_secret
from sessions_app.webhooks.targets import check_url

MAX_WEBHOOKS = 20
"""Largest number of webhooks of a user."""
NO_WEBHOOK = "There is no such webhook here."


def make_webhook(
    user: Any,
    url: str,
    events: Sequence[WebhookEvent],
    by: Actor,
    maker: ApiKey | None = None,
    *,
    is_of_group: bool = False,
    hook_id: UUID | None = None,
) -> tuple[Webhook, str]:
    """Create a webhook for the user's sessions. Return the webhook and its secret, which cannot be read later.

    Args:
        maker: the API key that creates the webhook; None for a user in the browser.
        is_of_group: True for the sessions of all users for whom the maker acts, instead of the user's own.
        hook_id: id of the webhook. An existing webhook with this id gets a new secret.

    Raises:
        InvalidInputError: the URL cannot be used, or the maker acts for no group.
        LimitExceededError: the user has `MAX_WEBHOOKS` webhooks already.
    """
    check_url(url)
    people_id = _group_of_service(maker) if is_of_group else None
    secret = new_secret()
    with transaction.atomic():
        # Serialize the requests of a user: parallel requests could exceed the limit together.
        get_user_model()._base_manager.select_for_update().get(pk=user.pk)
        # The id comes from the idempotency key of a request, repeated after its process died: nobody has seen the
        # first secret, and only its encrypted form is stored.
        existing = Webhook.objects.filter(pk=hook_id).first() if hook_id else None
        if existing is not None:
            existing.secret = encrypt_text(secret)
            existing.save(update_fields=["secret"])
            return existing, secret
        _refuse_too_many(user)
        hook = Webhook.objects.create(
            pk=hook_id or uuid4(),
            user_id=user.pk,
            people_id=people_id,
            made_by=maker,
            url=url,
            secret=encrypt_text(secret),
            events=[event.value for event in WebhookEvent if event in events],
        )
        AccountAct.objects.record(user.pk, Act(by, ActionKind.ADD, ("webhook", str(hook.pk))))
    return hook, secret


def delete_webhook(hooks: QuerySet[Webhook], hook_id: UUID, by: Actor) -> None:
    """Delete the webhook and its deliveries.

    Raises:
        NotFoundError: `hooks` has no webhook with this id.
    """
    hook = find_webhook(hooks, hook_id)
    with transaction.atomic():
        if not delete_with_deliveries(hooks.filter(pk=hook.pk)):
            raise NotFoundError(NO_WEBHOOK)  # Another request was faster.
        AccountAct.objects.record(hook.user_id, Act(by, ActionKind.DELETE, ("webhook", str(hook_id))))


def delete_with_deliveries(hooks: QuerySet[Webhook]) -> bool:
    """Delete webhooks with their deliveries, also while runs end that add more; return False if none is left."""
    with transaction.atomic():
        # Locked: Django looks for the deliveries first, and those that a trigger adds afterwards would stay.
        locked = list(hooks.select_for_update(of=("self",)).values_list("pk", flat=True))
        deleted, _ = Webhook.objects.filter(pk__in=locked).delete()
    return deleted > 0


def stage_test(hooks: QuerySet[Webhook], hook_id: UUID, message_id: UUID | None = None) -> WebhookDelivery:
    """Stage a delivery of the event `test` to the webhook; with a message id, only once.

    Raises:
        NotFoundError: `hooks` has no webhook with this id.
        ConflictError: the webhook is disabled.
    """
    hook = find_webhook(hooks, hook_id)
    if hook.disabled_at is not None:
        raise ConflictError("The webhook is disabled. Delete it and make another one.")
    event = WebhookEvent.TEST
    fields = {"webhook": hook, "event": event, "subject": str(hook_id), "payload": _payload(event, {})}
    delivery, _ = WebhookDelivery.objects.get_or_create(message_id=message_id or uuid4(), defaults=fields)
    return delivery


def stage_reading_alert(group: str, staff_id: str, rows: int, odd_rows: int) -> None:
    """Stage an alert on unusual reading for the webhooks of the group's members that asked for it."""
    event = WebhookEvent.READING_UNUSUAL
    data = {"staff_id": staff_id, "rows": rows, "outside_of_working_hours": odd_rows}
    payload = _payload(event, data)
    members = get_user_model()._base_manager.filter(is_active=True, groups__name=group)
    hooks = Webhook.objects.filter(
        user__in=members.values("pk"), people=None, disabled_at=None, events__contains=[event.value]
    )
    for hook in hooks:
        WebhookDelivery.objects.create(webhook=hook, event=event, subject=staff_id, payload=payload)


def _payload(event: WebhookEvent, data: dict[str, Any]) -> dict[str, Any]:
    return {"type": event.value, "timestamp": timezone.now().isoformat(), "data": data}


def find_webhook(hooks: QuerySet[Webhook], hook_id: UUID) -> Webhook:
    """Return the webhook with this id.

    Raises:
        NotFoundError: `hooks` has no such webhook.
    """
    hook = hooks.filter(pk=hook_id).first()
    if hook is None:
        raise NotFoundError(NO_WEBHOOK)
    return hook


def _group_of_service(maker: ApiKey | None) -> int:
    if maker is None or maker.people_id is None:
        raise InvalidInputError(
            "Only the key of a service may ask for a webhook about all people of its group.",
            field="is_of_group",
        )
    return maker.people_id


def _refuse_too_many(user: Any) -> None:
    # Rows with a session are push notification configurations of A2A.
    if Webhook.objects.filter(user_id=user.pk, session=None).count() >= MAX_WEBHOOKS:
        raise LimitExceededError(f"There are {MAX_WEBHOOKS} webhooks already. Delete one that is not used.")
