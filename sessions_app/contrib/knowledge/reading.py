"""Reading of a version in a Celery worker: claim it, read its file in a restricted process, store its passages.

Safe to repeat: a claim increments the number of the attempt, and only the latest attempt may write.
"""

import hashlib
import json
import logging
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from runtime.code_executors.code_execution_utils import CodeExecutionInput, File
from runtime.code_executors.restricted_code_executor import RestrictedCodeExecutor
from runtime.memory.memory_entry import distinct_words
from runtime.valid_text import storable
from sessions_app.contrib.knowledge import read_file
from sessions_app.contrib.knowledge.passages import cut
from sessions_app.contrib.knowledge.publishing import publish
from sessions_app.errors import FilesUnavailableError
from sessions_app.models import KnowledgePassage, KnowledgeVersion, VersionStatus
from sessions_app.models.stored_files import available_files
from sessions_app.process.sweeping import claim_once

logger = logging.getLogger(__name__)
READ_SECONDS = 120.0
"""Time limit of the process that reads a file."""
MEMORY_BYTES = 1024**3
OUTPUT_BYTES = 8 * read_file.MAX_CHARACTERS
"""JSON writes a character in up to six bytes, those beyond the basic plane in twelve."""
PASSAGES_AT_ONCE = 500
TOO_HARD = "Reading the file takes too long or too much memory."
MISSING = "The storage of the site does not have this file: somebody has deleted it there. Upload it again."
ALTERED = "The stored file is not the one that was uploaded. Upload it again."
NOT_ISOLATED = "This server cannot isolate the process that reads files: see docs/knowledge.md."
TOO_MANY = "The file has more than {:,} passages. Split it."
MAX_PASSAGES = 20_000


class ReadingError(Exception):
    """The file cannot be read; the message is a sentence for staff."""


def read_version(version_id: int) -> None:
    """Read a queued version; do nothing for any other. A failure is recorded in the row.

    While the storage of files does not answer, the version is queued again, for the sweep.
    """
    version = _claim(version_id)
    if version is None:
        return
    try:
        passages = _passages(version)
    except FilesUnavailableError:
        logger.warning(
            "Version %s is read later: the storage of files does not answer", version, exc_info=True
        )
        _latest(version).update(status=VersionStatus.QUEUED, attempts=F("attempts") - 1)
        return
    except ReadingError as error:
        _latest(version).update(status=VersionStatus.FAILED, error=storable(str(error)), finished_at=Now())
        return
    with transaction.atomic():
        # Locked: another attempt, or the deletion of the document, waits or has come first.
        if not _latest(version).select_for_update(of=("self",)).exists():
            return
        KnowledgePassage.objects.bulk_create(passages, batch_size=PASSAGES_AT_ONCE)
        _latest(version).update(status=VersionStatus.EMBEDDING)
    # The site may make no vectors; otherwise the sweep publishes the version once it has them.
    publish(version)


def _claim(version_id: int) -> KnowledgeVersion | None:
    queued = KnowledgeVersion.objects.filter(pk=version_id, status=VersionStatus.QUEUED)
    if not claim_once(queued, status=VersionStatus.READING):
        return None
    return KnowledgeVersion.objects.select_related("document").filter(pk=version_id).first()


def _latest(version: KnowledgeVersion) -> Any:
    """Return the version as a query, which is empty once a later attempt has begun."""
    return KnowledgeVersion.objects.filter(
        pk=version.pk, status=VersionStatus.READING, attempts=version.attempts
    )


def _passages(version: KnowledgeVersion) -> list[KnowledgePassage]:
    """Return the passages of the file.

    Raises:
        FilesUnavailableError: the storage of files does not answer.
        ReadingError: the file cannot be read.
    """
    pieces = list(islice(cut(_sections(version)), MAX_PASSAGES + 1))
    if len(pieces) > MAX_PASSAGES:
        raise ReadingError(TOO_MANY.format(MAX_PASSAGES))
    passages = []
    for position, piece in enumerate(pieces):
        text = storable(piece.text.replace("\0", ""))
        heading = storable(piece.heading.replace("\0", ""))[:500]
        passages.append(
            KnowledgePassage(
                version=version,
                position=position,
                heading=heading,
                page=piece.page,
                text=text,
                words=" ".join(distinct_words(f"{heading}\n{text}")),
            )
        )
    return passages


def _sections(version: KnowledgeVersion) -> list[tuple[str, int | None, str]]:
    """Return the sections of the file.

    Raises:
        FilesUnavailableError: the storage of files does not answer.
        ReadingError: the file cannot be read.
    """
    try:
        with available_files(), version.file.open("rb") as file:
            data = file.read()
    except FileNotFoundError as error:
        raise ReadingError(MISSING) from error
    if hashlib.sha256(data).hexdigest() != version.sha256:
        logger.error("The file of version %s is not the one that was uploaded", version)
        raise ReadingError(ALTERED)
    suffix = PurePath(version.document.name).suffix.lower()
    source = Path(read_file.__file__).read_text()
    try:
        executor = RestrictedCodeExecutor(
            timeout_seconds=READ_SECONDS,
            max_memory_bytes=MEMORY_BYTES,
            max_file_bytes=OUTPUT_BYTES,
            max_output_characters=OUTPUT_BYTES,
        )
    except ValueError as error:
        logger.error("Version %s was not read: %s", version, error)
        raise ReadingError(NOT_ISOLATED) from error
    result = executor.new_process().run(CodeExecutionInput(source, [File(f"file{suffix}", data)]))
    try:
        answer = json.loads(result.stdout.rpartition("\n")[2])
    except ValueError as error:
        logger.warning("Version %s was not read: %s", version, result.stderr[-500:])
        raise ReadingError(TOO_HARD) from error
    if "error" in answer:
        logger.info("Version %s was not read: %s", version, answer.get("detail", answer["error"]))
        raise ReadingError(answer["error"])
    sections: list[tuple[str, int | None, str]] = answer["sections"]
    return sections
