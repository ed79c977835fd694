"""Differences between signed roots and the database.

Somebody who rewrites an event with all hashes behind it, as only the owner of the database can, cannot change the root
that has the first hash: `differences` names this event. What was erased has left a record (`ErasedSession`,
`Tombstone`), which is in a root itself.
"""

import json
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from sessions_app.errors import LostPackError
from sessions_app.history.evidence.root_file import Root
from sessions_app.history.evidence.root_rows import covered_rows
from sessions_app.store.packs import packed_lines


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
        """True if the row may be gone: an erasure or a deletion of old records took it, or a pack has it."""
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
        """True if the pack of the session has this hash for the event."""
        if self._packed[0] != session_id:  # The rows of a root come session by session.
            try:
                lines = packed_lines(UUID(session_id))
            except LostPackError:
                lines = []
            self._packed = session_id, [json.loads(line)[-1] for line in lines]
        hashes = self._packed[1]
        return seq <= len(hashes) and hashes[seq - 1] == value


def differences(root: Root, erased: Erased) -> list[Difference]:
    """Return the rows of a root that are not in the database as they were, and of each log only the first event."""
    stored = dict(covered_rows(root.after, root.upto))
    if stored == root.rows:
        return []
    found: dict[str, Difference] = {}
    for row in sorted(root.rows.keys() | stored.keys(), key=_place_in_log):
        problem = _problem_of(row, root.rows.get(row), stored.get(row), erased)
        if problem:
            # A rewritten event changes all later hashes of its log: the first difference names the place.
            found.setdefault(_log_of(row), Difference(row, problem, root))
    return list(found.values())


def _problem_of(row: str, sealed: str | None, stored: str | None, erased: Erased) -> str:
    """Return how a row differs from its root; empty for a row that is as it was, or was erased.

    Args:
        sealed: hash in the root; None for a row that the root does not have.
        stored: hash in the database; None for a row that is gone.
    """
    if sealed is None:
        return "added"
    if stored is None:
        if erased.has(row, sealed):
            return ""
        return "missing"
    if stored != sealed:
        return "altered"
    return ""


def _place_in_log(row: str) -> tuple[str, int]:
    beginning, _, number = row.rpartition(" ")
    return beginning, int(number)


def _log_of(row: str) -> str:
    """Return the kind and the session of an event; any other row whole."""
    return row.rpartition(" ")[0] if row.startswith("event ") else row
