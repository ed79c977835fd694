"""RecordedEnd: what an invocation or a job has ended with, or who lifted a hold, as the database recorded it."""

from django.db import models
from django.db.models.functions import Now


class RecordedEnd(models.Model):
    """An end of an invocation or a job, or the lifting of a hold, inserted by a trigger. A retry can end a second time.

    Attributes:
        kind: `invocation`, `tooljob` or `legalhold`.
        subject_id: primary key of the row that ended; 0 for a job, which `job_id` names.
        erased_with: primary key of the session, or of the user of a hold on a user, as text.
        hash: hash of the columns of that end, by `adk_hash_of_end`, `adk_hash_of_job` or `adk_hash_of_lifting`.
        error_hash: hash of the error alone, which stays when the invocation waits or runs again; None for others.
    """

    kind = models.CharField(max_length=16)
    subject_id = models.BigIntegerField()
    job_id = models.UUIDField(null=True)
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
