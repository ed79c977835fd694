"""Columns for the actor of a row, without a foreign key, so they survive the account."""

from django.db import models

from sessions_app.base.actors import NAME_LENGTH, ActorKind


class ActorColumns(models.Model):
    """Base of the models whose rows have an actor.

    Attributes:
        actor_kind: value of `ActorKind`; empty in rows older than this column.
        actor_id: primary key of the actor as text: of a user, an API key, a job or a scheduled task.
        actor_name: name of the actor at the time of the act.
        address: IP address of the actor; None without an address.
    """

    actor_kind = models.CharField(
        max_length=16, choices=ActorKind.choices, blank=True, default="", db_default=""
    )
    actor_id = models.CharField(max_length=64, blank=True, default="", db_default="")
    actor_name = models.CharField(max_length=NAME_LENGTH, blank=True, default="", db_default="")
    address = models.GenericIPAddressField(null=True, blank=True)

    class Meta:
        abstract = True
