"""Artifact service: rows in PostgreSQL, bytes in Django's storage (contract F1).

The bytes are stored first, then the row. A crash between the two leaves a file without a row, which nobody sees; the
other order could leave a row whose content cannot be loaded.
"""

import hashlib
import logging
from typing import Any

import psycopg
from django.core.files.base import ContentFile, File
from django.db import IntegrityError, connection, transaction
from django.db.models import Max, Q, QuerySet

from runtime import types
from runtime.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService
from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.errors import SessionNotFoundError
from runtime.valid_text import valid_text
from sessions_app.base.codec import is_storable, user_pk
from sessions_app.conf import conf
from sessions_app.errors import ConflictError, InvalidInputError, LimitExceededError
from sessions_app.models import Artifact, PersonUsage, Session
from sessions_app.models.artifact import path_of_upload
from sessions_app.models.stored_files import available_files
from sessions_app.process.threads import fetch_rows, in_thread

logger = logging.getLogger(__name__)
USER_PREFIX = "user:"
NAME_LENGTH = 1024
# Attempts at a version number: concurrent saves of one file may take it first.
ATTEMPTS = 10


class DjangoArtifactService(BaseArtifactService):
    """Stores every version of an artifact as a row and a file."""

    async def save_artifact(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, artifact: types.Part
    ) -> int:
        data, mime_type, kind = _content_of(filename, artifact)
        return await in_thread(_save, app_name, user_id, session_id, filename, data, mime_type, kind)

    async def load_artifact(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, version: int | None = None
    ) -> types.Part | None:
        rows = _newest_first(app_name, user_id, session_id, filename, version)
        return await in_thread(_load_first, rows)

    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str) -> list[str]:
        rows = Artifact.objects.filter(app_name=app_name, user_id=user_pk(user_id))
        visible = rows.filter(Q(session__key=session_id) | Q(session__isnull=True))
        return sorted(set(await fetch_rows(visible.values_list("filename", flat=True))))

    async def delete_artifact(self, *, app_name: str, user_id: str, session_id: str, filename: str) -> None:
        await in_thread(artifact_versions(app_name, user_pk(user_id), session_id, filename).delete)

    async def list_versions(
        self, *, app_name: str, user_id: str, session_id: str, filename: str
    ) -> list[int]:
        rows = artifact_versions(app_name, user_pk(user_id), session_id, filename)
        return await fetch_rows(rows.order_by("version").values_list("version", flat=True))

    async def get_artifact_version(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, version: int | None = None
    ) -> ArtifactVersion | None:
        row = await in_thread(_newest_first(app_name, user_id, session_id, filename, version).first)
        if row is None:
            return None
        return ArtifactVersion(
            version=row.version,
            canonical_uri=ArtifactReference(filename, row.version, row.mime_type).uri,
            create_time=row.created_at.timestamp(),
            mime_type=row.mime_type or None,
        )


def _content_of(filename: str, part: types.Part) -> tuple[bytes, str, str]:
    """Return the bytes, the MIME type, and the kind of part to return when loading: `text` or `blob`."""
    if part.inline_data is not None:
        return part.inline_data.data or b"", part.inline_data.mime_type or "application/octet-stream", "blob"
    if part.text is not None:
        return valid_text(part.text).encode(), "text/plain", "text"
    raise InvalidInputError(f"Artifact {filename!r} has no content: give a part with text or inline data.")


def _session_pk(app_name: str, user: Any, session_id: str) -> Any:
    rows = Session.objects.filter(app_name=app_name, user_id=user, key=session_id)
    session_pk = rows.values_list("pk", flat=True).first()
    if session_pk is None:
        raise SessionNotFoundError(f"There is no session {session_id!r} to save the artifact in.")
    return session_pk


def artifact_versions(app_name: str, user: Any, session_id: str, filename: str) -> QuerySet[Artifact]:
    """Return the versions of a file of a session, or of the user if its name begins with `user:`."""
    if not is_storable(filename):
        return Artifact.objects.none()
    rows = Artifact.objects.filter(app_name=app_name, user_id=user, filename=filename)
    if filename.startswith(USER_PREFIX):
        return rows.filter(session__isnull=True)
    return rows.filter(session__key=session_id)


def _save(
    app_name: str, user_id: str, session_id: str, filename: str, data: bytes, mime_type: str, kind: str
) -> int:
    if len(filename) > NAME_LENGTH or not is_storable(filename):
        raise InvalidInputError(
            f"Artifact name {filename[:80]!r} cannot be stored: use at most {NAME_LENGTH} characters "
            "and no NUL."
        )
    user = user_pk(user_id)
    session = None if filename.startswith(USER_PREFIX) else _session_pk(app_name, user, session_id)
    artifact = Artifact(
        app_name=app_name,
        user_id=user,
        session_id=session,
        filename=filename,
        mime_type=mime_type,
        part_kind=kind,
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
    )
    return store_artifact(artifact, ContentFile(data)).version


def store_artifact(artifact: Artifact, content: "File[bytes]") -> Artifact:
    """Store the bytes, and the row with the next version number. Idempotent with an upload id.

    Returns:
        The artifact, or the artifact stored by an earlier request with the upload id.

    Raises:
        FilesUnavailableError: the storage does not answer; there is no row.
        LimitExceededError: the user's artifacts would be too large together.
        SessionNotFoundError: the session was deleted in the meantime.
    """
    if stored := _stored_before(artifact):
        return stored
    check_artifact_size(artifact.user_id, artifact.size)  # before the bytes are written
    with available_files():
        artifact.file.save(artifact.filename, content, save=False)
    try:
        stored = _insert(artifact)
    except Exception:
        _delete_unused(artifact)
        raise
    # A concurrent request with the same upload id was first: its file stays, and this copy has no row.
    if stored is not artifact:
        _delete_unused(artifact)
    return stored


def _delete_unused(artifact: Artifact) -> None:
    """Delete the bytes of an artifact without a row, or leave them to the housekeeping."""
    try:
        artifact.file.delete(save=False)
    except OSError:
        # Not raised: the caller gets the reason why there is no row, or the row of the other request.
        logger.warning("An unused file could not be deleted; the housekeeping deletes it", exc_info=True)


def _versions(artifact: Artifact) -> QuerySet[Artifact]:
    return Artifact.objects.filter(
        app_name=artifact.app_name,
        user_id=artifact.user_id,
        session=artifact.session,
        filename=artifact.filename,
    )


def _stored_before(artifact: Artifact) -> Artifact | None:
    if artifact.upload_id is None:
        return None
    return _versions(artifact).filter(file__startswith=path_of_upload(artifact.upload_id)).first()


def _insert(artifact: Artifact) -> Artifact:
    """Insert the row with the next version number; return it, or the row of an earlier request."""
    for _ in range(ATTEMPTS):
        last = _versions(artifact).aggregate(last=Max("version"))["last"]
        # Query this after the version number: a request that stores the same upload in between takes the number, so
        # the insertion below fails and the next round finds its row.
        if stored := _stored_before(artifact):
            return stored
        artifact.version = 0 if last is None else last + 1
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                # Lock order: user and session, which the foreign keys lock, before the sum, which a trigger locks.
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                artifact.save(force_insert=True)
                check_artifact_size(artifact.user_id, 0)
        except IntegrityError as error:
            if isinstance(error.__cause__, psycopg.errors.ForeignKeyViolation):
                raise SessionNotFoundError("The session was deleted while a file was saved in it.") from error
            continue  # a concurrent save took this version number
        return artifact
    raise ConflictError(f"Artifact {artifact.filename!r} has too many concurrent writers. Try again.")


def check_artifact_size(user: Any, more: int) -> None:
    """Raise `LimitExceededError` if the user's artifacts and `more` bytes exceed `max_artifact_bytes_per_user`."""
    most = conf().max_artifact_bytes_per_user
    if not most:
        return
    # After an insertion its trigger holds the lock of the sum: concurrent saves cannot exceed the limit together.
    stored = PersonUsage.objects.filter(pk=user).values_list("artifact_bytes", flat=True).first() or 0
    if stored + more > most:
        raise LimitExceededError(
            f"The files of a person may have {most} bytes together, with older versions, and this file would be "
            "beyond that. Delete files that are no longer needed."
        )


def _newest_first(
    app_name: str, user_id: str, session_id: str, filename: str, version: int | None
) -> QuerySet[Artifact]:
    """Return the versions of a file, or only the version with this number."""
    rows = artifact_versions(app_name, user_pk(user_id), session_id, filename)
    if version is not None:
        rows = rows.filter(version=version)
    return rows.order_by("-version")


def _load_first(rows: QuerySet[Artifact]) -> types.Part | None:
    row = rows.first()
    return None if row is None else load_part(row)


def load_part(artifact: Artifact) -> types.Part:
    """Return the content of a version, read from the storage, as it was saved.

    Raises:
        AlteredFileError: somebody has changed the file in the storage.
        FileNotFoundError: the storage does not have the file.
        FilesUnavailableError: the storage does not answer.
    """
    data = artifact.read()
    if artifact.part_kind == "text":
        return types.Part(text=data.decode())
    return types.Part(inline_data=types.Blob(data=data, mime_type=artifact.mime_type))
