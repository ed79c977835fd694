"""A replica of PostgreSQL from which the pages of staff are read, so their searches take nothing from conversations.

A project has one if its `DATABASES` have the alias "replica", and its `DATABASE_ROUTERS` have `ReplicaRouter`. Only
what runs within `read_replica` reads it, and only tables of this app; all else, and each write, goes to the primary.

A replica is behind its primary. So a page reads it only if it has all that the member of staff has written, and if it
is no more than `ADK["audit_replica_seconds"]` behind. Otherwise, and while the replica does not answer, the page reads
the primary.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model

from sessions_app.conf import conf

logger = logging.getLogger(__name__)
REPLICA = "replica"
RETRY_SECONDS = 30.0
"""Time for which nothing is read from a replica that did not answer."""
FROM_PRIMARY = {"remit"}
"""Models that say what staff may see: a right that was withdrawn must end at once."""

_alias: ContextVar[str] = ContextVar("alias", default=DEFAULT_DB_ALIAS)
_POSITION = re.compile(r"[0-9A-F]{1,8}/[0-9A-F]{1,8}", re.ASCII)
_PLACE = """
SELECT pg_is_in_recovery(), pg_last_wal_replay_lsn() >= %(written)s::pg_lsn,
    pg_last_wal_replay_lsn() >= %(newest)s::pg_lsn, pg_last_xact_replay_timestamp(), clock_timestamp()
"""


class ReplicaRouter:
    """Reads of this app within `read_replica` go to the replica, and all else to the primary."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        is_here = model._meta.app_label == "sessions_app" and model._meta.model_name not in FROM_PRIMARY
        return _alias.get() if is_here else DEFAULT_DB_ALIAS

    def db_for_write(self, model: type[Model], **hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Model, other: Model, **hints: Any) -> bool:
        return True  # both are rows of the same database

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db != REPLICA


@dataclass(frozen=True)
class ReadFrom:
    """The server that a page was read from.

    Attributes:
        as_of: everything that was committed before this time is on the page; None for all that is committed.
    """

    is_replica: bool = False
    as_of: datetime | None = None


def has_replica() -> bool:
    """Return True if the project has a replica for staff."""
    return REPLICA in settings.DATABASES


def reading_connection() -> BaseDatabaseWrapper:
    """Return the connection for statements that only read: to the replica within `read_replica`."""
    return connections[_alias.get()]


def written_position() -> str:
    """Return the position of the primary's log, to be given to `read_replica` by whoever has written."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_lsn()::text")
        return str(cursor.fetchone()[0])


@contextmanager
def read_replica(written: str) -> Iterator[ReadFrom]:
    """Read from the replica within this context, if it is fit for that.

    Args:
        written: position of the last write that must be seen, as `written_position` returned it, or any other text.
    """
    place = _place_of_replica(written) if has_replica() else None
    if place is None:
        yield ReadFrom()
        return
    token = _alias.set(REPLICA)
    try:
        yield place
    finally:
        _alias.reset(token)


def read_primary() -> None:
    """Read from the primary for the rest of a `read_replica`: something has just been written that must be seen."""
    _alias.set(DEFAULT_DB_ALIAS)


_retry_at = 0.0


def _place_of_replica(written: str) -> ReadFrom | None:
    """Return how far the replica is; None for one that should not be read."""
    global _retry_at
    if monotonic() < _retry_at:
        return None
    newest = written_position()
    positions = {"written": written if _POSITION.fullmatch(written) else "0/0", "newest": newest}
    try:
        with connections[REPLICA].cursor() as cursor:
            cursor.execute(_PLACE, positions)
            is_replica, has_written, has_all, replayed_at, now = cursor.fetchone()
    except OperationalError as error:
        logger.warning("The replica does not answer, so staff read the primary: %s", error)
        _retry_at = monotonic() + RETRY_SECONDS
        return None
    # A server that is no replica any more may be a former primary, whose rows are old.
    if not is_replica or not has_written:
        return None
    if has_all:
        return ReadFrom(is_replica=True)
    if replayed_at is None or (now - replayed_at).total_seconds() > conf().audit_replica_seconds:
        return None
    return ReadFrom(is_replica=True, as_of=replayed_at)
