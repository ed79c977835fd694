"""Packs: the events of sessions that nobody has used for long are in files, and come back when somebody opens one.

    in the tables   `Session.packed_at` is null; the row of a `Pack` is from an earlier time, or missing
    packed          `Session.packed_at` is set: the events are in the file only (`data_protection.packing`)

A packed session has no events that a page, an export or a run could read. So whoever finds a session for one of them
calls `open_pack` if `packed_at` is set: afterwards the session is like any other. The row of the session, its
invocations, jobs, files and acts never leave the tables.

The file is a zip in the form of an export, unmasked. `events.jsonl` has a line for each event, as `adk_packed_event`
writes it. The digest over the lines is that of `adk_digest_of_log`, by which the database knows the events again.
"""

import hashlib
import logging
from collections.abc import Iterable
from io import BytesIO
from typing import cast
from uuid import UUID
from zipfile import BadZipFile, ZipFile

from django.db import connection, transaction

from sessions_app.errors import LostPackError
from sessions_app.models import Pack, Session
from sessions_app.models.stored_files import available_files
from sessions_app.process.replica import read_primary
from sessions_app.process.threads import in_thread

logger = logging.getLogger(__name__)
EVENTS = "events.jsonl"
MAX_BYTES = 100_000_000
"""Longest `events.jsonl` of a pack: it is read into memory. A longer log stays in the tables."""


def open_pack(session: Session) -> None:
    """Bring the events of a packed session back to the tables; do nothing for any other session. Idempotent.

    Raises:
        FilesUnavailableError: the storage does not answer.
        LostPackError: the file is missing, or not the one that was stored.
    """
    if session.packed_at is None:
        return
    pack = Pack.objects.filter(pk=session.pk).first()
    if pack is not None:  # otherwise erased in the meantime
        # Read before the transaction, which locks the session.
        lines = read_lines(pack)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT adk_open_pack(%s, %s::text[])", [session.pk, lines])
        logger.info("Session %s was opened from its pack", session.pk, extra={"session_id": str(session.pk)})
        read_primary()
    session.packed_at = None


async def open_if_packed(session: Session) -> None:
    """Do as `open_pack`, from asyncio code: without a thread for a session that is not packed."""
    if session.packed_at is not None:
        await in_thread(open_pack, session)


def read_lines(pack: Pack) -> list[str]:
    """Return the lines of a pack, each an event; the first one is that with the `seq` 1. Raises as `open_pack`."""
    try:
        with available_files(), pack.file.open("rb") as file:
            content = file.read()
        if hashlib.sha256(content).hexdigest() != pack.sha256:
            raise LostPackError
        with ZipFile(BytesIO(content)) as archive:
            # Not `splitlines`, which also splits at marks within a text.
            lines = archive.read(EVENTS).decode().split("\n")[:-1]
    except (FileNotFoundError, BadZipFile, KeyError) as error:
        raise LostPackError from error
    if digest_of(pack.pk, lines) != bytes(pack.digest):
        raise LostPackError
    return lines


def digest_of(session_id: UUID, lines: Iterable[str]) -> bytes:
    """Return what `adk_digest_of_log` returns for the events of these lines."""
    digest = b""
    for seq, line in enumerate(lines, start=1):
        digest = next_digest(digest, session_id, seq, line)
    return digest


def next_digest(digest: bytes, session_id: UUID, seq: int, line: str) -> bytes:
    """Return the digest of a log after one more event."""
    return hashlib.sha256(digest + f"{session_id} {seq} {line}".encode()).digest()


def packed_lines(session_id: UUID) -> list[str]:
    """Return the lines of a packed session; an empty list for any other session. Raises as `open_pack`."""
    pack = Pack.objects.filter(pk=session_id, session__packed_at__isnull=False).first()
    return read_lines(pack) if pack else []


def stored_lines(session_id: UUID, after: int, limit: int) -> list[str]:
    """Return the lines of up to `limit` events in the tables after a `seq`."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT adk_packed_event(e)::text FROM sessions_app_event e
            WHERE session_id = %s AND seq > %s ORDER BY seq LIMIT %s""",
            [session_id, after, limit],
        )
        return [cast(str, line) for (line,) in cursor.fetchall()]
