"""StaffAccess: the record of an access of staff to words of conversations."""

from django.contrib.postgres.indexes import OpClass
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now, Upper

from sessions_app.models.actor_columns import ActorColumns


class AccessKind(models.TextChoices):
    OPEN = "open"
    DOWNLOAD = "download"
    SEARCH = "search"
    EXPORT = "export"
    UNMASK = "unmask"


class StaffAccess(ActorColumns):
    """An access of staff. The record has no foreign keys, so it survives the actor's account and the row.

    Attributes:
        subject_kind: name of the model of the row or list, such as `session`.
        subject_id: primary key of the row, as text; empty for a list.
        detail: the searched term, the page, or the form and the hash of an export.
    """

    kind = models.CharField(max_length=16, choices=AccessKind.choices)
    subject_kind = models.CharField(max_length=64)
    subject_id = models.CharField(max_length=64, blank=True)
    detail = models.CharField(max_length=300, blank=True)
    reason = models.TextField(blank=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ("view",)
        verbose_name_plural = "staff accesses"
        indexes = [
            models.Index(fields=["subject_kind", "subject_id"], name="staff_access_subject"),
            models.Index(fields=["at"], name="staff_access_at"),
            models.Index(fields=["actor_id", "-id"], name="staff_access_of_actor"),
            # For the search.
            models.Index(fields=["subject_id"], name="staff_access_subject_id"),
            models.Index(OpClass(Upper("actor_name"), "text_pattern_ops"), name="staff_access_name"),
            models.Index(fields=["address"], name="staff_access_address", condition=Q(address__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.actor_name}: {self.kind} {self.subject_kind} {self.subject_id}"
