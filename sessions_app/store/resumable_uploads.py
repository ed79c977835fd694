"""Resumable uploads: large files that come in chunks and end as artifacts, like other uploads."""

from __future__ import annotations

from typing import IO
from uuid import UUID, uuid4

from django.contrib.auth import get_user_model
from django.core.files.base import File
from django.core.files.storage import Storage
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.db import connection, transaction
from django.template.defaultfilters import filesizeformat

from sessions_app.conf import conf
from sessions_app.errors import ConflictError, InvalidInputError, LimitExceededError, TooLargeError
from sessions_app.models import Artifact, ResumableUpload, Session
from sessions_app.store.artifact_service import check_size
from sessions_app.store.uploads import artifact_name, check_upload, store_upload

MAX_UNFINISHED = 20
MAX_CHUNKS = 10_000


def create(session: Session, name: str, length: int, upload_id: UUID | None = None) -> ResumableUpload:
    """Begin an upload of `length` bytes to the session. Idempotent with an id.

    Raises:
        TooLargeError: the file is larger than the site takes.
        LimitExceededError: the person's files would be too large together, or the person has too many unfinished
            uploads.
    """
    if length > conf().upload_bytes:
        raise TooLargeError(
            f"The file is too large. A file may have {filesizeformat(conf().upload_bytes)}.",
            field="header.Upload-Length",
        )
    check_size(session.user_id, length)
    unfinished = ResumableUpload.objects.in_force().filter(session__user=session.user_id, artifact=None)
    with transaction.atomic():
        # Requests of one person come one after the other, so that they cannot exceed the limit together.
        get_user_model()._default_manager.select_for_update(no_key=True).get(pk=session.user_id)
        if upload_id and (begun := ResumableUpload.objects.filter(pk=upload_id).first()):
            return begun
        if unfinished.count() >= MAX_UNFINISHED:
            raise LimitExceededError(
                f"There are {MAX_UNFINISHED} unfinished uploads. Finish or delete one of them."
            )
        return ResumableUpload.objects.create(
            pk=upload_id or uuid4(), session=session, filename=artifact_name(name), length=length
        )


def store_chunk(begun: ResumableUpload, offset: int, chunk: IO[bytes]) -> ResumableUpload:
    """Store the chunk at the offset, and the whole file after the last one; return the upload as it is then.

    Raises:
        ConflictError: the upload is at another offset, or another request stores a chunk of it.
        InvalidInputError: the chunk is empty, or the site does not take files of this type.
        TooLargeError: the chunk goes beyond the end of the file.
        LimitExceededError: there are too many chunks, or the person's files would be too large together.
    """
    with transaction.atomic():
        upload = _lock(begun)
        if offset != upload.offset:
            raise ConflictError(
                f"The upload is at the offset {upload.offset}, not at {offset}. Go on from there."
            )
        if upload.chunks == MAX_CHUNKS:
            raise LimitExceededError(f"The upload has {MAX_CHUNKS} chunks. Delete it, and send larger ones.")
        upload.offset += _save_chunk(upload, chunk)
        upload.chunks += 1
        if upload.offset == upload.length:
            upload.artifact = _assemble(upload)
            upload.delete_chunks_on_commit()
        upload.save(update_fields=["offset", "chunks", "artifact"])
    return upload


def delete_expired_uploads() -> None:
    """Delete the uploads that can no longer be continued."""
    ResumableUpload.objects.expired().delete()


def _lock(begun: ResumableUpload) -> ResumableUpload:
    with connection.cursor() as cursor:
        # Lock order: the session, which the artifact's foreign key locks, before the upload, which is deleted with it.
        cursor.execute("SELECT 1 FROM sessions_app_session WHERE id = %s FOR KEY SHARE", [begun.session_id])
    rows = ResumableUpload.objects.select_for_update(skip_locked=True, of=("self",))
    upload = rows.select_related("session").filter(pk=begun.pk).first()
    if upload is None:
        raise ConflictError("Another request stores a chunk of this upload. Ask for its offset.")
    return upload


def _storage() -> Storage:
    return Artifact._meta.get_field("file").storage


def _save_chunk(upload: ResumableUpload, chunk: IO[bytes]) -> int:
    """Store the next chunk; return its size. It replaces a chunk that a process stored before it died."""
    storage, path = _storage(), upload.chunk_path(upload.chunks)
    storage.delete(path)
    storage.save(path, File(chunk))
    size, missing = storage.size(path), upload.length - upload.offset
    if not size:
        raise InvalidInputError("The chunk is empty. Send the bytes from the offset on.", field="body")
    if size > missing:
        raise TooLargeError(
            f"The chunk has {size} bytes, but {missing} are missing. Send no more than these.", field="body"
        )
    return size


def _assemble(upload: ResumableUpload) -> Artifact:
    with TemporaryUploadedFile(upload.filename, "", upload.length, None) as whole:
        for number in range(upload.chunks):
            with _storage().open(upload.chunk_path(number)) as chunk:
                for piece in chunk.chunks():
                    whole.write(piece)
        return store_upload(upload.session, whole, check_upload(whole))
