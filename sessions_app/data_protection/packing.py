"""Packing of sessions that were not used for `pack_days`: their events move from the tables to a file.

The file is written, read again and compared before `adk_pack_session` deletes the events, which it does only if they
are still those of the file. Each session is a transaction of its own. A process that dies leaves a file without a row
at most, which the housekeeping deletes; the session is whole in the tables, or whole in its file.

The housekeeping also deletes the file of an earlier pack, a day later: a backup whose database is older may need it.
"""

import hashlib
import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID, uuid4

from django.core.files import File
from django.core.files.storage import Storage
from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from sessions_app.conf import conf
from sessions_app.data_protection.archive import Archive
from sessions_app.data_protection.retain import unused_sessions, without_held
from sessions_app.errors import FilesUnavailableError, LostPackError
from sessions_app.history.evidence.integrity import flaw_in
from sessions_app.models import Invocation, Pack, ScheduledTask, Session, ToolJob
from sessions_app.models.pack import FOLDER
from sessions_app.models.stored_files import available_files
from sessions_app.store import packs

logger = logging.getLogger(__name__)
EVENTS_PER_QUERY = 200
OPEN_DAYS = 7
"""Days for which an opened session stays in the tables, so that its readers need not wait again."""


def sessions_to_pack() -> Iterator[QuerySet[Session]]:
    """Yield the sessions that are due to be packed, by setting, the longest unused first."""
    long_opened = Q(pack=None) | Q(pack__opened_at__lt=timezone.now() - timedelta(days=OPEN_DAYS))
    for _days, unused in unused_sessions("pack_days"):
        counted = Q(figures__is_settled=True, figures__seq=F("last_seq"), figures__words_seq=F("last_seq"))
        due = unused.filter(long_opened, counted, packed_at=None, deleted_at=None, last_seq__gt=0)
        waiting: tuple[QuerySet[Any], ...] = (
            Invocation.objects.open(),
            ToolJob.objects.filter(delivered_at__isnull=True),
            ScheduledTask.objects.filter(next_at__isnull=False),
        )
        for rows in waiting:
            due = due.exclude(pk__in=rows.order_by().values("session"))
        yield without_held(due).order_by("updated_at", "pk")


def pack_unused_sessions() -> int:
    """Pack up to `retention_batch` sessions; return their number. The next run packs the rest.

    Raises:
        FilesUnavailableError: the storage does not answer. The other sessions stay in the tables.
    """
    packed = 0
    for sessions in sessions_to_pack():
        for session_pk in list(sessions.values_list("pk", flat=True)[: conf().retention_batch - packed]):
            packed += _try_pack(session_pk)
    return packed


def _try_pack(session_pk: UUID) -> bool:
    try:
        return pack_session(session_pk)
    except FilesUnavailableError:  # none of the other sessions could be packed either
        raise
    except Exception:
        logger.exception(
            "Session %s could not be packed; the next run tries again",
            session_pk,
            extra={"session_id": str(session_pk)},
        )
        return False


def pack_session(session_pk: UUID) -> bool:
    """Move the events of a session to its pack; return False if `adk_pack_session` refuses it.

    A log that is not as it was written stays in the tables, too, and so does one of more than `packs.MAX_BYTES`.

    Raises:
        FilesUnavailableError: the storage does not answer.
    """
    session = (
        Session.objects.filter(pk=session_pk).values("id", "app_name", "user_id", "key", "last_seq").first()
    )
    if session is None:
        return False
    earlier = Pack.objects.filter(pk=session_pk).first()
    if earlier and earlier.last_seq == session["last_seq"] and _close(earlier):
        return True
    if flaw := flaw_in(session_pk):
        logger.warning(
            "Session %s is not packed: event %s is %s",
            session_pk,
            flaw.seq,
            flaw.problem,
            extra={"session_id": str(session_pk)},
        )
        return False
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pack.zip"
        lines = _Lines(session_pk)
        with Archive(path) as archive:
            archive.write_json("session.json", session)
            archive.write(packs.EVENTS, lines)
        if lines.size > packs.MAX_BYTES:
            logger.warning(
                "Session %s is not packed: its events have %s bytes",
                session_pk,
                lines.size,
                extra={"session_id": str(session_pk)},
            )
            return False
        pack = Pack(pk=session_pk, digest=lines.digest, size=path.stat().st_size)
        with path.open("rb") as file:
            pack.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            with available_files():
                name = _storage().save(f"{FOLDER}/{uuid4().hex}.zip", File(file))
        pack.file.name = name
    if _close(pack):
        return True
    with suppress(OSError):  # the housekeeping deletes files without a row
        _storage().delete(name)
    return False


def _close(pack: Pack) -> bool:
    """Delete the events of the pack's session from the tables, if the storage has them."""
    try:
        packs.read_lines(pack)
    except LostPackError:
        logger.error("The file %s is not as it was stored", pack.file.name)
        return False
    with transaction.atomic(), connection.cursor() as cursor:
        parameters = [pack.pk, pack.file.name, pack.size, pack.sha256, pack.digest]
        cursor.execute("SELECT adk_pack_session(%s, %s, %s, %s, %s)", parameters)
        is_packed: bool = cursor.fetchone()[0]
    return is_packed


class _Lines(Iterable[bytes]):
    """Lines of a session's events, read page by page, with their size and digest."""

    def __init__(self, session_pk: UUID) -> None:
        self.size = 0
        self.digest = b""
        self._session_pk = session_pk

    def __iter__(self) -> Iterator[bytes]:
        seq = 0
        while self.size <= packs.MAX_BYTES:
            page = packs.stored_lines(self._session_pk, seq, EVENTS_PER_QUERY)
            for line in page:
                seq += 1
                self.digest = packs.next_digest(self.digest, self._session_pk, seq, line)
                chunk = f"{line}\n".encode()
                self.size += len(chunk)
                yield chunk
            if not page:
                return


def _storage() -> Storage:
    storage: Storage = Pack._meta.get_field("file").storage
    return storage
