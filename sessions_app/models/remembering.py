"""Remembering: pauses of users, and how far the facts of a session have been taken from its events."""

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class MemoryPause(models.Model):
    """A pause for all agents, at the wish of the user. What is said in it is not remembered later, either.

    Attributes:
        resumed_at: None while the pause lasts.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="adk_memory_pauses"
    )
    paused_at = models.DateTimeField(db_default=Now())
    resumed_at = models.DateTimeField(null=True)

    class Meta:
        """A user has one pause at a time."""

        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["user"], condition=Q(resumed_at=None), name="memory_pause_one_at_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"pause {self.pk}"

    def includes(self, moment: datetime) -> bool:
        return self.paused_at <= moment and (self.resumed_at is None or moment < self.resumed_at)


def is_in_pause(moment: datetime, pauses: Iterable[MemoryPause]) -> bool:
    """True if something said at the moment must not be remembered."""
    return any(pause.includes(moment) for pause in pauses)


class RememberedSession(models.Model):
    """Position in a session up to which facts have been taken: each event is considered once.

    Attributes:
        seq: number of the last considered event.
        claimed_until: time until which a worker asks the model; then the sweep asks again.
        attempts: requests since the last answer.
        tokens: sum of all requests.
        cost: sum of all requests, by `ADK["prices"]`.
    """

    session = models.OneToOneField(
        "sessions_app.Session", on_delete=models.CASCADE, primary_key=True, related_name="remembered"
    )
    seq = models.BigIntegerField(db_default=0, default=0)
    claimed_until = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(db_default=0, default=0)
    tokens = models.BigIntegerField(db_default=0, default=0)
    cost = models.FloatField(db_default=0.0, default=0.0)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"session {self.session_id}, considered up to #{self.seq}"
