"""StaffAct: the record of an act in the admin."""

from django.contrib.postgres.indexes import OpClass
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now, Upper

from sessions_app.base.actors import ActionKind
from sessions_app.models.actor_columns import ActorColumns

DETAIL_LENGTH = 300


class StaffAct(ActorColumns):
    """An act in the admin. The record has no foreign keys, so it survives the actor's account and the subject.

    Attributes:
        subject_kind: name of the model of the subject, such as `invocation`.
        subject_id: primary key of the subject as text.
        detail: tool, numbers and event of an answered call, `tool(numbers)#seq`; or the act that a second person must
            agree to, `(erase)`, or what a form has changed, `(Groups: added auditor)`. It has no words of the
            conversation, so it outlives an erasure.
    """

    action = models.CharField(max_length=16, choices=ActionKind.choices)
    subject_kind = models.CharField(max_length=64)
    subject_id = models.CharField(max_length=64)
    reason = models.TextField(blank=True, default="", db_default="")
    detail = models.CharField(max_length=DETAIL_LENGTH, blank=True, default="", db_default="")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ("view",)
        indexes = [
            models.Index(fields=["subject_kind", "subject_id"], name="staff_act_subject"),
            # For the search.
            models.Index(fields=["subject_id"], name="staff_act_subject_id"),
            models.Index(OpClass(Upper("actor_name"), "text_pattern_ops"), name="staff_act_name"),
            models.Index(fields=["address"], name="staff_act_address", condition=Q(address__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.actor_name}: {self.action} {self.subject_kind} {self.subject_id}"
