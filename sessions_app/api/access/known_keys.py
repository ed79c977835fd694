"""API keys that this process has read. For each request one statement checks that the key is in force and unchanged.

The ORM needs a thread and several times the CPU of that statement. Therefore it reads a key only when the row of the
key, or of its person, has changed.
"""

from __future__ import annotations

import asyncio
from copy import copy
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import TextField
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.utils import timezone

from sessions_app.models import ApiKey
from sessions_app.models.api_key import digest_of
from sessions_app.process.loop_local import LoopLocal
from sessions_app.process.pool import fetch_one
from sessions_app.process.threads import create_task, in_thread

NOTED_EVERY = timedelta(minutes=1)
"""Precision of the time at which a key was last used."""
MAX_KNOWN = 1_000

_readings = LoopLocal(dict[tuple[str, Any], asyncio.Task[ApiKey | None]])
_known: dict[str, tuple[Any, ApiKey]] = {}  # By digest, with the versions of the rows.


async def key_in_force(key: str) -> ApiKey | None:
    """Return the row of a key, with its person, and note that it is used; None for a key that is not in force."""
    digest = digest_of(key)
    found = await fetch_one(_versions_statement(), (digest,))
    if found is None:
        return None
    versions = tuple(found.values())
    known_versions, row = _known.get(digest, (None, None))
    if row is None or known_versions != versions or _must_be_noted(row):
        row = await _read_once(digest, versions)
    return _copy(row) if row else None


async def _read_once(digest: str, versions: Any) -> ApiKey | None:
    """Return the row of a key in these versions. Requests that need it at the same time share one reading.

    Otherwise each of them would take a thread, and update the same row.
    """
    readings = _readings.get()
    if (reading := readings.get((digest, versions))) is None:
        reading = create_task(_read_and_remember(digest, versions), name="read an API key")
        readings[digest, versions] = reading
        reading.add_done_callback(lambda _: readings.pop((digest, versions)))
    return await asyncio.shield(reading)


async def _read_and_remember(digest: str, versions: Any) -> ApiKey | None:
    row = await in_thread(_read, digest)
    if row is not None:
        _remember(digest, versions, row)
    return row


def _remember(digest: str, versions: Any, row: ApiKey) -> None:
    _known[digest] = versions, row
    if len(_known) > MAX_KNOWN:
        del _known[next(iter(_known))]


def _copy(row: ApiKey) -> ApiKey:
    """Return a copy for one request, because Django caches permissions and other values on the person."""
    own = copy(row)
    own.user = copy(row.user)
    return own


def _must_be_noted(row: ApiKey) -> bool:
    return row.last_used_at is None or row.last_used_at < timezone.now() - NOTED_EVERY


def _read(digest: str) -> ApiKey | None:
    row = ApiKey.objects.active().select_related("user").filter(digest=digest).first()
    if row is not None and _must_be_noted(row):
        ApiKey.objects.filter(pk=row.pk).update(last_used_at=Now())
    return row


@lru_cache(maxsize=1)
def _versions_statement() -> str:
    """Return the statement for a digest: the ids of the transactions that wrote the rows of the key and its person."""
    person = get_user_model()._meta.get_field("is_active").model
    versions = {
        model.__name__: RawSQL(f'"{model._meta.db_table}".xmin::text', (), TextField())  # noqa: S611 - no value of a request
        for model in (ApiKey, person)
    }
    statement, _ = ApiKey.objects.active().filter(digest="").values(**versions).query.sql_with_params()
    return statement
