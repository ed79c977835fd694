"""Uploads: artifacts sent by the session's person, for messages to refer to."""

import hashlib
from collections.abc import Iterable
from fnmatch import fnmatch
from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.db.models import Q
from django.template.defaultfilters import filesizeformat

from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.valid_text import storable
from sessions_app.base.codec import is_storable
from sessions_app.conf import conf
from sessions_app.errors import ConflictError, InvalidInputError, NotFoundError, TooLargeError
from sessions_app.models import Artifact, LegalHold, Session
from sessions_app.store.artifact_service import (
    NAME_LENGTH,
    USER_PREFIX,
    store_artifact,
)
from sessions_app.store.erasing import refuse_if_held
from sessions_app.store.file_types import BEGINNING, detect_type

FileName = tuple[str, int]
"""Filename and version."""


def store_upload(
    session: Session, upload: "UploadedFile[Any]", mime_type: str, upload_id: UUID | None = None
) -> Artifact:
    """Store the file as the next version of the artifact of its name. Idempotent with an id.

    Args:
        mime_type: type of the file, from `check_upload`.
        upload_id: id of the uploading request.

    Raises:
        LimitExceededError: the person's files would be too large together.
    """
    name = uploaded_name(upload)
    artifact = Artifact(
        app_name=session.app_name,
        user_id=session.user_id,
        session=session,
        filename=name,
        mime_type=mime_type,
        part_kind="blob",
        size=upload.size or 0,
        sha256=sha256_of(upload),
        is_upload=True,
    )
    artifact.upload_id = upload_id
    return store_artifact(artifact, upload)


def uploaded_name(upload: "UploadedFile[Any]") -> str:
    """Return the name under which the file is stored."""
    # Browsers escape these in the name of a file, and no other character.
    # https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data
    name = upload.name or ""
    for escape, character in (("%22", '"'), ("%0D", "\r"), ("%0A", "\n")):
        name = name.replace(escape, character)
    return artifact_name(name)


def _size_beyond(limit: int, size: int) -> str:
    # At least a tenth of a unit above the limit: rounded, size and limit could read alike.
    unit = 1024 ** ((limit.bit_length() - 1) // 10)
    return filesizeformat(max(size, limit + unit // 10))


def check_size(upload: "UploadedFile[Any]") -> None:
    """Refuse a file that is empty or larger than `upload_bytes`.

    Raises:
        InvalidInputError: the file is empty.
        TooLargeError: the file is too large.
    """
    filename = uploaded_name(upload)
    size = upload.size or 0
    if size == 0:
        raise InvalidInputError(f"The file “{filename}” is empty. Choose another one.", field="file")
    if size > conf().upload_bytes:
        raise TooLargeError(
            f"The file “{filename}” has {_size_beyond(conf().upload_bytes, size)}; "
            f"the limit is {filesizeformat(conf().upload_bytes)}.",
            field="file",
        )


def check_upload(upload: "UploadedFile[Any]") -> str:
    """Return the MIME type of the file.

    Raises:
        InvalidInputError: the file is empty, or the site does not accept its type.
        TooLargeError: the file is too large.
    """
    check_size(upload)
    filename = uploaded_name(upload)
    upload.seek(0)
    mime_type = detect_type(filename, upload.read(BEGINNING))
    if not is_accepted(mime_type):
        accepted = ", ".join(conf().upload_types)
        raise InvalidInputError(
            f"The file “{filename}” is of the type {mime_type}. Files may be: {accepted}.",
            field="file",
        )
    return mime_type


def artifact_name(name: str) -> str:
    """Return the artifact's name for a file: on a single line, without folders, and without `user:`."""
    last = storable(name).replace("\\", "/").rsplit("/", 1)[-1]
    printable = "".join(character for character in last if character.isprintable()).strip()
    # The prefix would make the file visible in all sessions of the person. A loop, for `user:user:`.
    while printable.startswith(USER_PREFIX):
        printable = printable.removeprefix(USER_PREFIX)
    return printable[-NAME_LENGTH:] if printable.strip(".") else "file"


def is_accepted(mime_type: str) -> bool:
    """Return True if the site accepts files of this type."""
    patterns = conf().upload_types
    return not patterns or any(fnmatch(mime_type, pattern) for pattern in patterns)


def check_file_count(count: int) -> None:
    """Refuse a message with more files than `upload_files`. Call this before the files are stored.

    Raises:
        InvalidInputError: there are too many files for a message.
    """
    if count > conf().upload_files:
        raise InvalidInputError(
            f"The message has {count} files; the limit is {conf().upload_files}. Send them in parts.",
            field="files",
        )


def references_to(session: Session, files: Iterable[FileName]) -> list[ArtifactReference]:
    """Return references to uploads of the session, for a message.

    Raises:
        NotFoundError: a file is no upload of this session.
        InvalidInputError: there are too many files for a message.
    """
    wanted = list(dict.fromkeys(files))
    check_file_count(len(wanted))
    types = {(row.filename, row.version): row.mime_type for row in _uploads(session, wanted)}
    for name, version in wanted:
        if (name, version) not in types:
            raise NotFoundError(f"There is no file “{storable(name)[:80]}” in this chat. Attach it again.")
    return [ArtifactReference(name, version, types[name, version]) for name, version in wanted]


def delete_upload(session: Session, file: FileName) -> None:
    """Delete an upload without a message; do nothing when the upload is gone already.

    Raises:
        ConflictError: a message refers to the file, or a legal hold covers it.
    """
    for artifact in _uploads(session, [file]):
        uri = ArtifactReference(artifact.filename, artifact.version, artifact.mime_type).uri
        named = {"parts": [{"fileData": {"fileUri": uri}}]}
        if session.invocations.filter(message__contains=named).exists():
            raise ConflictError(f"The file “{artifact.filename}” is part of a message and stays in the chat.")
        refuse_if_held(LegalHold.objects.of_session(session.pk, session.user_id))
        artifact.delete()


def _uploads(session: Session, files: list[FileName]) -> list[Artifact]:
    named = Q(pk__in=())  # Matches nothing: an empty Q would match all uploads of the session.
    for name, version in files:
        if is_storable(name):
            named |= Q(filename=name, version=version)
    return list(Artifact.objects.filter(named, session=session, user_id=session.user_id, is_upload=True))


def sha256_of(upload: "UploadedFile[Any]") -> str:
    """Return the digest of the file, from its beginning; rewind it for the storage."""
    upload.seek(0)
    digest = hashlib.sha256()
    for chunk in upload.chunks():
        digest.update(chunk)
    upload.seek(0)
    return digest.hexdigest()
