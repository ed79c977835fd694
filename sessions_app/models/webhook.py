"""Webhook: an address for events of a user's sessions, and the deliveries to the address."""

from typing import Any, Self
from urllib.parse import urlsplit
from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

URL_LENGTH = 2000


class WebhookEvent(models.TextChoices):
    """Events of webhooks.

    Database triggers insert the deliveries in the transaction of their cause. Python inserts only tests, the first push
    notification of a configuration, messages of Slack that have files, and alerts on unusual reading, which are for
    members of a group of staff.
    """

    RUN_ENDED = "run.ended", "A run has ended"
    APPROVAL_NEEDED = "approval.needed", "A call or a question waits for somebody"
    JOB_ENDED = "job.ended", "A job has ended"
    TASK_CHANGED = "task.changed", "A task of A2A may have come to rest"
    READING_UNUSUAL = "reading.unusual", "A member of staff reads unusually much, or at unusual hours"
    TEST = "test", "Somebody asked for a test"


class Webhook(models.Model):
    """An address of a program, with the events to deliver.

    A push notification configuration of A2A is a row, too: it is about one task.

    Attributes:
        user: owner of the sessions; with `people`, owner of the key in `made_by`.
        people: group of the users whose sessions the webhook covers, see `users_of_keys`; None for `user` alone.
        made_by: API key of the creator; nothing is delivered when the key has ended. None for a webhook of a user.
        secret: secret for the signatures, encrypted. For push notifications, their configuration.
        events: values of `WebhookEvent`; empty for push notifications.
        session: for push notifications, the session of the task; None for a webhook.
        task_id: for push notifications, the id of the task.
        disabled_reason: sentence with the reason why nothing has been delivered since `disabled_at`.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="adk_webhooks")
    people = models.ForeignKey(
        "auth.Group", on_delete=models.CASCADE, related_name="+", null=True, blank=True
    )
    made_by = models.ForeignKey(
        "sessions_app.ApiKey", on_delete=models.CASCADE, related_name="webhooks", null=True, blank=True
    )
    url = models.CharField(max_length=URL_LENGTH)
    secret = models.TextField(editable=False)
    events = ArrayField(models.CharField(max_length=32, choices=WebhookEvent.choices))
    created_at = models.DateTimeField(db_default=Now())
    disabled_at = models.DateTimeField(null=True, blank=True)
    disabled_reason = models.CharField(max_length=500, blank=True, default="", db_default="")
    session = models.ForeignKey(
        "sessions_app.Session", on_delete=models.CASCADE, related_name="+", null=True, blank=True
    )
    task_id = models.CharField(max_length=128, blank=True, default="", db_default="")

    class Meta:
        default_permissions = ("view",)

    def __str__(self) -> str:
        return self.url

    @property
    def target(self) -> str:
        """The server of the address: its host, and its port if the address names it."""
        return urlsplit(self.url).netloc.lower()


class WebhookDeliveryQuerySet(models.QuerySet["WebhookDelivery"]):
    def due(self) -> Self:
        """Return the deliveries whose next attempt is due by the database's clock."""
        return self.filter(next_at__lte=Now())


class WebhookDelivery(models.Model):
    """An event on its way to a webhook, or delivered. `webhooks.delivery` draws the states.

    Attributes:
        message_id: the `webhook-id`, the same in each attempt.
        subject: id of the run, the job or the call of the event.
        payload: the body of the request.
        next_at: time of the next attempt; None after the last attempt. During an attempt, the time at which its process
            counts as dead.
        response_status: HTTP status of the last response; None without a response.
        error: sentence with the reason why the last attempt failed.
    """

    message_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=32, choices=WebhookEvent.choices)
    subject = models.CharField(max_length=160)
    payload: Any = models.JSONField()
    attempts = models.PositiveIntegerField(default=0, db_default=0)
    next_at = models.DateTimeField(null=True, blank=True, db_default=Now())
    response_status = models.PositiveIntegerField(null=True, blank=True)
    error = models.CharField(max_length=500, blank=True, default="", db_default="")
    created_at = models.DateTimeField(db_default=Now())
    delivered_at = models.DateTimeField(null=True, blank=True)

    objects = WebhookDeliveryQuerySet.as_manager()

    class Meta:
        default_permissions = ("view",)
        verbose_name_plural = "webhook deliveries"
        indexes = [
            # Partial: ended deliveries stay for 30 days, and sweeps look for due deliveries every few seconds.
            models.Index(fields=["next_at"], condition=Q(next_at__isnull=False), name="webhook_delivery_due"),
            models.Index(fields=["webhook", "-id"], name="webhook_delivery_of_webhook"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.subject}"
