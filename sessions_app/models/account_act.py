"""AccountAct: the record of an act on an API key, a webhook or the state of a user."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from sessions_app.base.actors import Act, ActionKind
from sessions_app.models.actor_columns import ActorColumns


class AccountActManager(models.Manager["AccountAct"]):
    def record(self, user_pk: Any, act: Act) -> None:
        """Store the act on an object of the user's account."""
        self.create(user_id=user_pk, **act.columns())


class AccountAct(ActorColumns):
    """An act on an API key, a webhook or the state of a user, by its user, a key or staff.

    Attributes:
        user: owner of the subject; the record is deleted with the account.
        subject_kind: name of the model of the subject, such as `apikey`.
        subject_id: primary key of the subject as text; of a state, the app and the changed keys.
    """

    # `adk_erase_account` deletes the acts.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.DO_NOTHING, related_name="+")
    action = models.CharField(max_length=16, choices=ActionKind.choices)
    subject_kind = models.CharField(max_length=64)
    subject_id = models.CharField(max_length=128)
    reason = models.TextField(blank=True, default="", db_default="")
    at = models.DateTimeField(db_default=Now())

    objects = AccountActManager()

    class Meta:
        default_permissions = ("view",)
        indexes = [models.Index(fields=["subject_kind", "subject_id"], name="account_act_subject")]

    def __str__(self) -> str:
        return f"{self.actor_name}: {self.action} {self.subject_kind} {self.subject_id}"
