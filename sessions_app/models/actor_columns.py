"""Columns of a row that keep who asked for it, without a foreign key, so that they survive the account."""

from __future__ import annotations

from django.db import models

from sessions_app.actors import NAME_LENGTH, ActorKind


class ActorColumns(models.Model):
    """The actor of an act.

    Attributes:
        actor_kind: empty in rows that are older than this column.
        actor_id: key of the actor, as text: of a user, a job or a scheduled task.
        actor_name: the name at the time of the act.
        address: the IP address that the act came from; None when there is none.
    """

    actor_kind = models.CharField(
        max_length=16, choices=ActorKind.choices, blank=True, default="", db_default=""
    )
    actor_id = models.CharField(max_length=64, blank=True, default="", db_default="")
    actor_name = models.CharField(max_length=NAME_LENGTH, blank=True, default="", db_default="")
    address = models.GenericIPAddressField(null=True, blank=True)

    class Meta:
        """Part of other models."""

        abstract = True
