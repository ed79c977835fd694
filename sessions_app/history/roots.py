"""Signed roots: what the chains of all logs were at a time, kept where the owner of the database cannot write.

A root is a file. It lists the hash of each event, and of each record of who did what, since the root before:

    {"number": 7, "at": "…", "previous": "SHA-256 of the file of root 6", "after": {"event": 5000, …},
     "upto": {"event": 5120, …}, "tree": "hash over the lines of the rows, see history.hash_tree"}
    event <session> <seq> <hash>
    staffact <id> <hash> <subject>
    …
    head <Ed25519 over the first line, in base64>
    signature <Ed25519 over all lines above, in base64>

The first line with its signature proves a row to somebody who may not see the other rows: see `Proofs`.

So a root costs what has happened since the last one, however many sessions there are, and the roots are a chain, too.
A row is found by its key, which grows with each row. A transaction that is open for long could commit a row with a
smaller key later, so `seal` waits until the transactions that were open have ended.

Somebody who rewrites an event with all hashes behind it, as only the owner of the database can, cannot change the root
that has the first hash: `differences` names this event. What was erased has left a record (`ErasedSession`,
`Tombstone`), which is in a root itself.
"""

import base64
import hashlib
import json
import logging
import re
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage, storages
from django.db import connection
from django.utils import timezone

from sessions_app.errors import ConflictError, InvalidInputError, LostPackError
from sessions_app.history.hash_tree import HashTree
from sessions_app.models import Event
from sessions_app.store.packs import packed_lines

logger = logging.getLogger(__name__)
ROWS_PER_TABLE = 100_000
"""Keys of a table that a root spans at most; it bounds the size of a file and the memory to check it."""
SETTLE_SECONDS = 1.0
"""Seconds in which an INSERT that has taken its key becomes a transaction that other connections see."""
WAIT_SECONDS = 60.0
"""Seconds to wait for open transactions."""
_LOWEST_KEY = -(2**63)
_NAME = re.compile(r"root-(\d{8})\.txt")
_SIGNATURE = b"signature "
_HEAD = b"head "
_ACTOR = "actor_kind, actor_id, actor_name, address"
_ACT = f"{_ACTOR}, action, subject_kind, subject_id, reason, extract(epoch FROM at)"
_RECORDS = {
    # Acts are older than their details: those without one keep their hash.
    "staffact": (
        _ACT.replace("reason", "reason || CASE detail WHEN '' THEN '' ELSE chr(31) || detail END"),
        "''",
    ),
    "sessionact": (f"session_id, seq, {_ACT}", "session_id"),
    "accountact": (f"user_id, {_ACT}", "user_id"),
    "staffaccess": (
        f"{_ACTOR}, kind, subject_kind, subject_id, detail, reason, extract(epoch FROM at)",
        "''",
    ),
    "actrequest": (f"{_ACTOR}, act, subject_kind, subject_id, reason, extract(epoch FROM at)", "''"),
    "actrequeststep": (f"{_ACTOR}, request_id, kind, agrees, reason, extract(epoch FROM at)", "''"),
    "casefile": (f"{_ACTOR}, title, extract(epoch FROM at)", "''"),
    "caseitem": (f"{_ACTOR}, case_id, session_id, seq, extract(epoch FROM at)", "''"),
    "caseentry": (f"{_ACTOR}, case_id, kind, text, sha256, extract(epoch FROM at)", "''"),
    "legalhold": (
        "session_id, user_id, reason, extract(epoch FROM set_at), set_by_name",
        "coalesce(session_id::text, user_id::text)",
    ),
    "tombstone": ("kind, subject_id, user_id, reason, by_name, extract(epoch FROM started_at)", "''"),
    "erasedsession": (
        "session_id, tombstone_id, last_seq, encode(hash, 'hex'), "
        "extract(epoch FROM at) || CASE acts::text WHEN '[]' THEN '' ELSE chr(31) || acts::text END",
        "''",
    ),
    "recordedend": (
        "coalesce(kind || ' ' || job_id, kind), subject_id, encode(hash || coalesce(error_hash, ''), 'hex'), "
        "extract(epoch FROM at)",
        "erased_with",
    ),
    "artifact": ("app_name, user_id, session_id, filename, version, mime_type, size, sha256", "''"),
}
"""Columns that never change, and the subject with which the row is erased, by table."""
_TABLES = ("event", *_RECORDS)
_EVENTS = """
SELECT 'event ' || session_id || ' ' || seq, coalesce(encode(hash, 'hex'), '-') FROM sessions_app_event
WHERE id > %s AND id <= %s ORDER BY session_id, seq"""


@dataclass(frozen=True)
class Root:
    """A signed root.

    Attributes:
        after, upto: the root covers the rows with keys greater than `after` and not greater than `upto`, by table.
        previous: SHA-256 of the root before; empty for the first one.
        rows: hashes, with the subject if there is one, by name of the row.
        tree: hash over the lines of the rows; empty in roots from before it.
    """

    number: int
    at: str
    previous: str
    after: Mapping[str, int]
    upto: Mapping[str, int]
    rows: Mapping[str, str]
    sha256: str
    tree: str = ""

    def __str__(self) -> str:
        return f"root {self.number} of {self.at}"


@dataclass(frozen=True)
class Difference:
    """A row that differs from its root.

    Attributes:
        row: kind and key, such as `event <session> <seq>`.
        problem: `altered`, `missing`, or `added` (under a key that the root covers).
    """

    row: str
    problem: str
    root: Root


def storage_at(name: str) -> Storage:
    """Return the storage with this alias in `STORAGES`, or of the directory with this path."""
    if name in settings.STORAGES:
        return storages[name]
    return FileSystemStorage(location=name)


def seal(storage: Storage, key: Ed25519PrivateKey) -> list[Root]:
    """Write the roots of all that was committed before; at least one.

    Raises:
        ConflictError: a transaction was open for too long, or another process writes roots to the same place.
        TransactionManagementError: the caller is in a transaction, for whose end this function would wait.
    """
    connection.validate_no_atomic_block()
    ends = _committed_ends()
    last = _last_root(storage, key.public_key())
    made: list[Root] = []
    while not made or last is None or any(last.upto.get(table, 0) < end for table, end in ends.items()):
        last = _write(storage, key, last, ends)
        made.append(last)
        logger.info("Root %s is sealed, with the SHA-256 %s", last.number, last.sha256)
    return made


def roots_at(place: str, key: Ed25519PublicKey) -> Iterator[Root]:
    """Yield the roots of a place in their order, each checked against the one before; of a file, its root.

    Raises:
        InvalidInputError: there is no root, or one is missing or forged.
    """
    if Path(place).is_file():
        yield _parse(Path(place).read_bytes(), key, place)
        return
    storage = storage_at(place)
    expected = (1, "")
    for number in _numbers(storage):
        root = _read(storage, number, key)
        if (root.number, root.previous) != expected:
            raise InvalidInputError(
                f"Root {number} does not follow root {expected[0] - 1}: one is missing or forged."
            )
        yield root
        expected = (root.number + 1, root.sha256)
    if expected[0] == 1:
        raise InvalidInputError(f"There is no signed root at '{place}'.")


def differences(root: Root, erased: "Erased") -> list[Difference]:
    """Return the rows of a root that are not in the database as they were, and of each log only the first event."""
    stored = dict(_rows(root.after, root.upto))
    if stored == root.rows:
        return []
    found: dict[str, Difference] = {}
    for row in sorted(root.rows.keys() | stored.keys(), key=_place_in_log):
        if row not in root.rows:
            problem = "added"
        elif row not in stored:
            problem = "" if erased.has(row, root.rows[row]) else "missing"
        else:
            problem = "" if stored[row] == root.rows[row] else "altered"
        if problem:
            found.setdefault(_log_of(row), Difference(row, problem, root))
    return list(found.values())


def _place_in_log(row: str) -> tuple[str, int]:
    beginning, _, number = row.rpartition(" ")
    return beginning, int(number)


def _log_of(row: str) -> str:
    """Return the kind and the session of an event; any other row whole."""
    return row.rpartition(" ")[0] if row.startswith("event ") else row


def _committed_ends() -> dict[str, int]:
    """Return the greatest keys, after the transactions that were open have ended."""
    ends = {table: _value(f"SELECT coalesce(max(id), 0) FROM sessions_app_{table}") for table in _TABLES}  # noqa: S608
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


def _rows(after: Mapping[str, int], upto: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield names and hashes of the rows with keys after `after`, up to `upto`."""
    # The database begins with key 1: a row with a smaller key was added by hand, and belongs to the first root.
    begin = {table: after.get(table, 0) or _LOWEST_KEY for table in _TABLES}
    with connection.cursor() as cursor:
        cursor.execute(_EVENTS, [begin["event"], upto["event"]])
        yield from cursor
        for table, (columns, subject) in _RECORDS.items():
            cursor.execute(
                f"""SELECT '{table} ' || id,
                    encode(sha256(convert_to(jsonb_build_array({columns})::text, 'UTF8')), 'hex') || ' ' || {subject}
                FROM sessions_app_{table} WHERE id > %s AND id <= %s ORDER BY id""",  # noqa: S608 - constants
                [begin[table], upto.get(table, 0)],
            )
            yield from cursor


def _write(storage: Storage, key: Ed25519PrivateKey, last: Root | None, ends: Mapping[str, int]) -> Root:
    after = {table: last.upto.get(table, 0) if last else 0 for table in ends}
    upto = {table: max(after[table], min(end, after[table] + ROWS_PER_TABLE)) for table, end in ends.items()}
    rows = [f"{row} {value}" for row, value in _rows(after, upto)]
    head = {
        "number": last.number + 1 if last else 1,
        "at": timezone.now().isoformat(timespec="seconds"),
        "previous": last.sha256 if last else "",
        "after": after,
        "upto": upto,
        "tree": HashTree(rows).root,
    }
    first = json.dumps(head)
    content = "".join(f"{line}\n" for line in (first, *rows)).encode()
    content += _HEAD + base64.b64encode(key.sign(first.encode())) + b"\n"
    content += _SIGNATURE + base64.b64encode(key.sign(content)) + b"\n"
    name = _name(head["number"])
    stored = storage.save(name, ContentFile(content))
    if stored != name:
        raise ConflictError(f"'{name}' was there already: another process writes roots to this place.")
    return _parse(content, key.public_key(), name)


def _name(number: Any) -> str:
    return f"root-{number:08}.txt"


def _numbers(storage: Storage) -> list[int]:
    try:
        _, files = storage.listdir("")
    except FileNotFoundError:  # no root was written yet
        return []
    return sorted(int(match[1]) for match in map(_NAME.fullmatch, files) if match)


def _last_root(storage: Storage, key: Ed25519PublicKey) -> Root | None:
    numbers = _numbers(storage)
    return _read(storage, numbers[-1], key) if numbers else None


def _read(storage: Storage, number: int, key: Ed25519PublicKey) -> Root:
    with storage.open(_name(number)) as file:
        root = _parse(file.read(), key, _name(number))
    if root.number != number:
        raise InvalidInputError(f"'{_name(number)}' has root {root.number}: it was moved.")
    return root


def _parse(data: bytes, key: Ed25519PublicKey, name: str) -> Root:
    content, _, signature = data.rpartition(_SIGNATURE)
    try:
        key.verify(base64.b64decode(signature), content)
    except (InvalidSignature, ValueError) as error:
        raise InvalidInputError(f"'{name}' does not have the signature of this key.") from error
    first, *lines = content.decode().splitlines()
    if lines and lines[-1].startswith(_HEAD.decode()):
        lines.pop()
    rows: dict[str, str] = {}
    for line in lines:
        words = 3 if line.startswith("event ") else 2
        parts = line.split(" ", words)
        rows[" ".join(parts[:words])] = parts[words]
    return Root(**json.loads(first), rows=rows, sha256=hashlib.sha256(data).hexdigest())


class Proofs:
    """Proofs that the roots of a place have an event, each without the other rows of its root.

    Attributes:
        covered: greatest key of an event in the roots; 0 without a root.

    Raises:
        InvalidInputError: the newest root does not have the signature of the key.
    """

    def __init__(self, place: str, key: Ed25519PublicKey) -> None:
        self._storage = storage_at(place)
        self._key = key
        self._numbers = _numbers(self._storage)
        newest = _last_root(self._storage, key)
        self.covered = newest.upto["event"] if newest else 0

    def of(self, events: Iterable[Event]) -> dict[int, dict[str, Any]]:
        """Return the proofs of events that the roots cover, as JSON by primary key. Each root is read once.

        A proof has the first line of the root (`head`), the signature of this line, and the way from the line of the
        event (`row`) to the hash in the first line, by `history.hash_tree`. An event whose root is older than such
        proofs has none.
        """
        proofs: dict[int, dict[str, Any]] = {}
        in_order = sorted(events, key=lambda event: event.pk)
        for place, covered in groupby(in_order, key=self._place_of):
            proofs |= self._proofs_by(self._numbers[place], covered)
        return proofs

    def _place_of(self, event: Event) -> int:
        return bisect_left(self._numbers, event.pk, key=self._last_event_of)

    def _proofs_by(self, number: int, events: Iterable[Event]) -> dict[int, dict[str, Any]]:
        with self._storage.open(_name(number)) as file:
            content = file.read()
        root = _parse(content, self._key, _name(number))
        if not root.tree:
            return {}
        head, *lines = content.decode().splitlines()
        signature = lines[-2].removeprefix(_HEAD.decode())
        rows = [f"{row} {value}" for row, value in root.rows.items()]
        places = {row: place for place, row in enumerate(root.rows)}
        tree = HashTree(rows)
        proofs = {}
        for event in events:
            place = places.get(f"event {event.session_id} {event.seq}")
            if place is not None:
                path = tree.path_to(place)
                proofs[event.pk] = {"head": head, "signature": signature, "row": rows[place], "path": path}
        return proofs

    def _last_event_of(self, number: int) -> int:
        with self._storage.open(_name(number)) as file:
            return int(json.loads(file.readline())["upto"]["event"])


class Erased:
    """The records of erasures, as the database has them when the object is made."""

    def __init__(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT session_id::text, max(last_seq) FROM sessions_app_erasedsession GROUP BY 1"
            )
            self._sessions: dict[str, int] = dict(cursor.fetchall())
            cursor.execute("SELECT subject_id FROM sessions_app_tombstone WHERE kind = 'person'")
            self._people = {subject for (subject,) in cursor.fetchall()}
            cursor.execute(
                r"""SELECT coalesce(max(subject_id::bigint), 0) FROM sessions_app_tombstone
                WHERE kind = 'accesses' AND subject_id ~ '^\d{1,18}$'"""
            )
            self._accesses: int = cursor.fetchone()[0]
        self._packed: tuple[str, list[str]] = ("", [])

    def has(self, row: str, value: str) -> bool:
        """Return True if the row may be gone: an erasure or a deletion of old records took it, or a pack has it."""
        table, key, *rest = row.split(" ")
        subject = value.partition(" ")[2]
        match table:
            case "event":
                return self._sessions.get(key, 0) >= int(rest[0]) or self._is_packed(key, int(rest[0]), value)
            case "sessionact" | "accountact" | "legalhold" | "recordedend":
                return subject in self._sessions or subject in self._people
            case "staffaccess":
                return int(key) <= self._accesses
        return table == "artifact"

    def _is_packed(self, session_id: str, seq: int, value: str) -> bool:
        """Return True if the pack of the session has this hash for the event."""
        if self._packed[0] != session_id:  # The rows of a root come session by session.
            try:
                lines = packed_lines(UUID(session_id))
            except LostPackError:
                lines = []
            self._packed = session_id, [json.loads(line)[-1] for line in lines]
        hashes = self._packed[1]
        return seq <= len(hashes) and hashes[seq - 1] == value


def load_private_key(path: Path) -> Ed25519PrivateKey:
    """Return the key in a PEM file.

    Raises:
        InvalidInputError: the file has no Ed25519 key.
    """
    key = load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidInputError(
            f"'{path}' has no Ed25519 key: make one with `openssl genpkey -algorithm ed25519`."
        )
    return key


def load_public_key(path: Path) -> Ed25519PublicKey:
    """Return the public key in a PEM file.

    Raises:
        InvalidInputError: the file has no public Ed25519 key.
    """
    key = load_pem_public_key(path.read_bytes())
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidInputError(f"'{path}' has no public Ed25519 key: make one with `openssl pkey -pubout`.")
    return key
