"""Sealing: the signed roots of all that was committed.

A transaction that is open for long could commit a row with a smaller key later, so `seal` waits until the transactions
that were open have ended.
"""

import base64
import json
import logging
import time
from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.files.base import ContentFile
from django.core.files.storage import Storage
from django.db import connection
from django.utils import timezone

from sessions_app.errors import ConflictError
from sessions_app.history.evidence.hash_tree import HashTree
from sessions_app.history.evidence.root_file import HEAD, SIGNATURE, Root, last_root, parse_root, root_name
from sessions_app.history.evidence.root_rows import TABLES, covered_rows

# Operators collect the lines of this logger: docs/security.md names it.
logger = logging.getLogger(__name__)
ROWS_PER_TABLE = 100_000
"""Keys of a table that a root spans at most; it bounds the size of a file and the memory to check it."""
SETTLE_SECONDS = 1.0
"""Seconds in which an INSERT that has taken its key becomes a transaction that other connections see."""
WAIT_SECONDS = 60.0
"""Seconds to wait for open transactions."""


def seal(storage: Storage, key: Ed25519PrivateKey) -> list[Root]:
    """Write the roots of all that was committed before; at least one.

    Raises:
        ConflictError: a transaction was open for too long, or another process writes roots to the same place.
        TransactionManagementError: the caller is in a transaction, for whose end this function would wait.
    """
    connection.validate_no_atomic_block()
    ends = _committed_ends()
    last = last_root(storage, key.public_key())
    made: list[Root] = []
    while not made or last is None or any(last.upto.get(table, 0) < end for table, end in ends.items()):
        last = _write(storage, key, last, ends)
        made.append(last)
        logger.info("Root %s is sealed, with the SHA-256 %s", last.number, last.sha256)
    return made


def _write(storage: Storage, key: Ed25519PrivateKey, last: Root | None, ends: Mapping[str, int]) -> Root:
    number = 1
    previous = ""
    covered: Mapping[str, int] = {}
    if last:
        number = last.number + 1
        previous = last.sha256
        covered = last.upto
    after = {table: covered.get(table, 0) for table in ends}
    upto = {table: max(after[table], min(end, after[table] + ROWS_PER_TABLE)) for table, end in ends.items()}
    rows = [f"{row} {value}" for row, value in covered_rows(after, upto)]
    head = {
        "number": number,
        "at": timezone.now().isoformat(timespec="seconds"),
        "previous": previous,
        "after": after,
        "upto": upto,
        "tree": HashTree(rows).root,
    }
    first = json.dumps(head)
    content = "".join(f"{line}\n" for line in (first, *rows)).encode()
    content += HEAD + base64.b64encode(key.sign(first.encode())) + b"\n"
    content += SIGNATURE + base64.b64encode(key.sign(content)) + b"\n"
    name = root_name(number)
    stored = storage.save(name, ContentFile(content))
    if stored != name:
        raise ConflictError(f"'{name}' was there already: another process writes roots to this place.")
    return parse_root(content, key.public_key(), name)


def _committed_ends() -> dict[str, int]:
    """Return the greatest keys, after the transactions that were open have ended."""
    ends = {table: _value(f"SELECT coalesce(max(id), 0) FROM sessions_app_{table}") for table in TABLES}  # noqa: S608
    # An INSERT takes its key shortly before the snapshot knows its transaction.
    time.sleep(SETTLE_SECONDS)
    newest = _value("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
    deadline = time.monotonic() + WAIT_SECONDS
    while _value("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint") < newest:
        if time.monotonic() > deadline:
            raise ConflictError(
                f"A transaction is open for more than {WAIT_SECONDS:.0f} seconds, so no root was written."
            )
        time.sleep(0.05)
    return ends


def _value(query: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return int(cursor.fetchone()[0])
