"""Uploads of files to a base: each is the next version of the document with its name."""

import logging
from pathlib import PurePath
from typing import Any

from celery import current_app
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Count, F, Max, Q, QuerySet
from django.db.models.functions import Now

from sessions_app.contrib.knowledge.read_file import READERS
from sessions_app.errors import InvalidInputError
from sessions_app.models import KnowledgeBase, KnowledgeDocument, KnowledgeVersion
from sessions_app.models.stored_files import available_files
from sessions_app.process.celery_dispatch import JOB_QUEUE
from sessions_app.store.uploads import check_size, sha256_of, uploaded_name

logger = logging.getLogger(__name__)
READ_KNOWLEDGE = "sessions_app.read_knowledge"
KINDS = ", ".join(READERS)


def check_file(upload: "UploadedFile[Any]") -> None:
    """Refuse a file that cannot be read.

    Raises:
        InvalidInputError: the file is empty, or of another kind.
        TooLargeError: the file has more bytes than `upload_bytes`.
    """
    if PurePath(uploaded_name(upload)).suffix.lower() not in READERS:
        raise InvalidInputError(f"The name of the file ends with none of {KINDS}.", field="file")
    check_size(upload)


def upload_file(base: KnowledgeBase, upload: "UploadedFile[Any]", user_pk: Any) -> KnowledgeVersion:
    """Store the file as the next version of the document with its name, and send it to a worker.

    Raises:
        InvalidInputError: the file is empty, or of another kind.
        TooLargeError: the file has more bytes than `upload_bytes`.
        FilesUnavailableError: the storage of files does not answer; nothing is stored.
    """
    check_file(upload)
    with transaction.atomic():
        document, _ = KnowledgeDocument.objects.get_or_create(base=base, name=uploaded_name(upload)[-255:])
        # The lock gives each version its own number.
        KnowledgeDocument.objects.select_for_update().get(pk=document.pk)
        last = document.versions.aggregate(last=Max("number"))["last"]
        version = KnowledgeVersion(
            document=document,
            number=(last or 0) + 1,
            size=upload.size or 0,
            sha256=sha256_of(upload),
            uploaded_by_id=user_pk,
        )
        with available_files():
            version.file.save("file", upload, save=False)
        version.save()
        transaction.on_commit(lambda: send_version(version))
    return version


def delete_with_versions(document: KnowledgeDocument) -> bool:
    """Delete a document with its files; return False if somebody else has deleted it."""
    with transaction.atomic():
        locked = KnowledgeDocument.objects.select_for_update().filter(pk=document.pk).first()
        if locked is None:
            return False
        _lock_versions(KnowledgeVersion.objects.filter(document=locked))
        locked.delete()
    return True


def delete_base(base: KnowledgeBase) -> None:
    """Delete a base with its documents and their files."""
    with transaction.atomic():
        # Until the commit nobody adds a document to the locked base, or a version to a locked document.
        list(KnowledgeBase.objects.select_for_update().filter(pk=base.pk))
        list(base.documents.select_for_update().order_by("pk").values_list("pk"))
        _lock_versions(KnowledgeVersion.objects.filter(document__base=base))
        base.delete()


def _lock_versions(versions: QuerySet[KnowledgeVersion]) -> None:
    # Django reads the rows to delete first, and a worker that reads a file could add passages.
    list(versions.select_for_update(of=("self",)).order_by("pk").values_list("pk"))


def passages_of(version: KnowledgeVersion) -> tuple[int, int]:
    """Return the number of passages of the version that have vectors, and of all."""
    counts = version.passages.aggregate(all=Count("pk"), done=Count("pk", filter=Q(vectors__gt=0)))
    return counts["done"], counts["all"]


def send_version(version: KnowledgeVersion) -> None:
    """Ask a worker to read the version; without a broker, leave it to the sweep."""
    try:
        current_app.send_task(READ_KNOWLEDGE, args=[version.pk], queue=JOB_QUEUE, ignore_result=True)
    except Exception:
        logger.warning("Version %s could not be sent to a worker; the sweep sends it", version, exc_info=True)
        return
    KnowledgeVersion.objects.filter(pk=version.pk).update(sent_at=Now(), sends=F("sends") + 1)
