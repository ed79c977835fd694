"""Annotation: a label or a note of staff on a session, or on one of its events."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from sessions_app.base.actors import NAME_LENGTH

LABEL_LENGTH = 64
MAX_NOTE_LENGTH = 2_000


class Annotation(models.Model):
    """A label or a note. The sessions with a label are a set, which can be exported to evaluate agents.

    Attributes:
        seq: number of the annotated event; null for an annotation of the whole session.
        by_name: name of the member of staff when the annotation was written; kept when the account is deleted.
    """

    session = models.ForeignKey("sessions_app.Session", on_delete=models.CASCADE, related_name="annotations")
    seq = models.BigIntegerField(null=True, blank=True)
    label = models.CharField(max_length=LABEL_LENGTH, blank=True)
    note = models.TextField(max_length=MAX_NOTE_LENGTH, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    by_name = models.CharField(max_length=NAME_LENGTH)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ("view", "add", "delete")
        indexes = [models.Index(fields=["label", "session"], name="annotation_by_label")]

    def __str__(self) -> str:
        return f"annotation {self.pk}"
