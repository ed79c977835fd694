"""ResumableUpload: a large upload that a program sends in chunks, which Django's storage holds."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any, Self

from django.db import models, transaction
from django.db.models.functions import Now
from django.db.models.signals import post_delete
from django.dispatch import receiver

from sessions_app.models.artifact import Artifact

KEPT = timedelta(days=1)


class ResumableUploadQuerySet(models.QuerySet["ResumableUpload"]):
    """Uploads, by age."""

    def in_force(self) -> Self:
        """Return the uploads that have not expired."""
        return self.filter(created_at__gt=Now() - KEPT)

    def expired(self) -> Self:
        """Return the uploads that can no longer be continued."""
        return self.filter(created_at__lte=Now() - KEPT)


class ResumableUpload(models.Model):
    """One upload. The row stays after its end, so that a client that has missed the last response finds the file.

    Attributes:
        length: bytes of the whole file.
        offset: bytes that are stored.
        chunks: number of chunks that are stored.
        artifact: the file, once it is whole.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(
        "sessions_app.Session", on_delete=models.CASCADE, related_name="resumable_uploads"
    )
    filename = models.CharField(max_length=1024)
    length = models.PositiveBigIntegerField()
    offset = models.PositiveBigIntegerField(default=0, db_default=0)
    chunks = models.PositiveIntegerField(default=0, db_default=0)
    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="+", null=True)
    created_at = models.DateTimeField(db_default=Now())

    objects = ResumableUploadQuerySet.as_manager()

    class Meta:
        """Staff do not see the rows."""

        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.filename}: {self.offset} of {self.length}"

    @property
    def expires_at(self) -> datetime:
        """Time from which on the upload cannot be continued."""
        return self.created_at + KEPT

    def chunk_path(self, number: int) -> str:
        """Return the path of a chunk. It is among the artifacts, where a file without a row is deleted after a day."""
        return f"artifacts/{self.pk.hex}-{number}"

    def delete_chunks_on_commit(self) -> None:
        """Delete the chunks after the transaction.

        A process may have stored one more chunk than the row counts, and died before it could count the chunk.
        """
        paths = [self.chunk_path(number) for number in range(self.chunks + 1)]

        def delete() -> None:
            for path in paths:
                Artifact._meta.get_field("file").storage.delete(path)

        transaction.on_commit(delete, robust=True)


@receiver(post_delete, sender=ResumableUpload)
def delete_bytes(instance: ResumableUpload, **kwargs: Any) -> None:
    """Delete the chunks with the row, also when the row is deleted with its session."""
    if instance.artifact_id is None:
        instance.delete_chunks_on_commit()
