"""Artifact: a version of a file of a session or a user; Django's storage holds the bytes."""

import hashlib
import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models.fields.files import FieldFile
from django.db.models.functions import Now
from django.db.models.signals import post_delete
from django.dispatch import receiver

from sessions_app.errors import AlteredFileError
from sessions_app.models.stored_files import available_files, delete_after_commit

FOLDER = "artifacts/"


def storage_path(artifact: "Artifact", filename: str) -> str:
    """Return a random path; the path of an artifact with an upload id begins with `path_of_upload`."""
    # The name of the file is not part of the path: names from users and models must not reach the file system.
    beginning = FOLDER
    if artifact.upload_id:
        beginning = path_of_upload(artifact.upload_id)
    return f"{beginning}{uuid.uuid4().hex}"


def path_of_upload(upload_id: uuid.UUID) -> str:
    """Return the beginning of the path of a file whose upload has this id."""
    return f"{FOLDER}{upload_id.hex}-"


class Artifact(models.Model):
    """A version of a file.

    Attributes:
        session: None for a file of the user, whose name starts with `user:`.
        version: 0, 1, 2 … for each filename.
        mime_type: MIME type of the saved part; `text/plain` for a text part.
        size: number of bytes.
        part_kind: kind of the part when loaded: `text` or `blob`.
        is_upload: True for an upload of the user.
        upload_id: id of the request with the upload; not stored.
    """

    upload_id: uuid.UUID | None = None

    app_name = models.CharField(max_length=128)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="adk_artifacts")
    session = models.ForeignKey(
        "sessions_app.Session", on_delete=models.CASCADE, related_name="artifacts", null=True, blank=True
    )
    filename = models.CharField(max_length=1024)
    version = models.PositiveIntegerField()
    mime_type = models.CharField(max_length=255)
    part_kind = models.CharField(max_length=8, choices=[("text", "text"), ("blob", "blob")])
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    file = models.FileField(upload_to=storage_path, max_length=255)
    is_upload = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["app_name", "user", "session", "filename", "version"],
                name="artifact_unique_version",
                # Files of a user have no session, and their versions are unique, too.
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.filename} v{self.version}"

    @property
    def versions(self) -> "models.QuerySet[Artifact]":
        """All versions of the file, the oldest first."""
        of_file = Artifact.objects.filter(
            app_name=self.app_name, user=self.user_id, session=self.session_id, filename=self.filename
        )
        return of_file.order_by("version")

    def hash_of_bytes(self) -> str:
        """Return the SHA-256 of the stored bytes, which is `sha256` unless somebody has changed them.

        Raises:
            FileNotFoundError: the storage does not have the file.
        """
        with available_files(), self.file.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def open_compared(self) -> FieldFile:
        """Open the file, after its SHA-256 was checked.

        Raises:
            AlteredFileError: somebody has changed the file in the storage.
            FileNotFoundError: the storage does not have the file.
        """
        with available_files():
            file: FieldFile = self.file.open("rb")
            if hashlib.file_digest(file, "sha256").hexdigest() != self.sha256:
                file.close()
                raise AlteredFileError
            file.seek(0)
        return file

    def read(self, limit: int | None = None) -> bytes:
        """Return the bytes, at most the first `limit`. Raise as `open_compared`."""
        with available_files(), self.open_compared() as file:
            content: bytes = file.read(-1 if limit is None else limit)
        return content


@receiver(post_delete, sender=Artifact)
def delete_bytes(instance: Artifact, using: str, **kwargs: Any) -> None:
    """Delete the bytes after the commit."""
    # A signal, because a cascade deletes rows without their `delete()`.
    delete_after_commit(instance.file, using)
