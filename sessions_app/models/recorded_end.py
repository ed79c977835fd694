"""RecordedEnd: what an invocation has ended with, or who lifted a hold, as the database recorded it at that time."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class RecordedEnd(models.Model):
    """An end of an invocation, or the lifting of a legal hold, inserted by a trigger. A retry can end a second time.

    Attributes:
        kind: `invocation` or `legalhold`.
        subject_id: primary key of the row that ended.
        erased_with: primary key of the session, or of the user of a hold on a user, as text.
        hash: hash of the columns of that end, by `adk_hash_of_end` or `adk_hash_of_lifting` in the database.
        error_hash: hash of the error alone, which stays when the invocation waits or runs again; None for a hold.
    """

    kind = models.CharField(max_length=16)
    subject_id = models.BigIntegerField()
    erased_with = models.CharField(max_length=64)
    hash = models.BinaryField()
    error_hash = models.BinaryField(null=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        """Ends are compared and erased by session or user."""

        default_permissions = ()
        indexes = [models.Index(fields=["erased_with", "kind", "subject_id"], name="recorded_end_of_row")]

    def __str__(self) -> str:
        return f"end of {self.kind} {self.subject_id}"
