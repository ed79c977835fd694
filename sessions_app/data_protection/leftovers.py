"""Deletion of stored files without a row, of expired login sessions, and of old records of accesses of staff.

The bytes of a file are stored before its row is committed, and deleted after the deletion of its row is committed.
A process that dies between the two leaves a file without a row, but no row without a file.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import timedelta
from importlib import import_module
from itertools import islice

from django.conf import settings
from django.core.files.storage import Storage
from django.db import connection
from django.db.models import Model
from django.utils import timezone

from sessions_app.conf import conf
from sessions_app.models import Artifact, CaseEntry

logger = logging.getLogger(__name__)
FOLDERS: tuple[tuple[str, type[Model], str], ...] = (
    ("artifacts", Artifact, "file"),
    ("cases", CaseEntry, "bundle"),
)
"""Folders of the storage, with the model and the field of their files."""
FILES_PER_QUERY = 500
ORPHAN_AGE = timedelta(days=1)
"""A younger file may belong to a row that is not committed yet."""


def delete_orphaned_files() -> int:
    """Delete files without a row after a day; return their number."""
    return sum(_delete_orphans_in(*folder) for folder in FOLDERS)


def _delete_orphans_in(folder: str, model: type[Model], field: str) -> int:
    storage: Storage = model._meta.get_field(field).storage  # type: ignore[union-attr]
    try:
        _, names = storage.listdir(folder)
    except FileNotFoundError:  # no file was saved yet
        return 0
    # Batches bound the length of the query: a storage may have very many files.
    remaining = iter(names)
    deleted = 0
    while batch := list(islice(remaining, FILES_PER_QUERY)):
        paths = {f"{folder}/{name}" for name in batch}
        rows = model._default_manager.filter(**{f"{field}__in": paths})
        deleted += _delete_old(storage, paths - set(rows.values_list(field, flat=True)))
    return deleted


def _delete_old(storage: Storage, orphans: Iterable[str]) -> int:
    deleted = 0
    for path in sorted(orphans):
        try:
            if timezone.now() - storage.get_modified_time(path) > ORPHAN_AGE:
                storage.delete(path)
                deleted += 1
        except OSError:  # deleted in the meantime, or unreadable: go on with the other files
            logger.warning("The orphaned file %s could not be deleted", path, exc_info=True)
    return deleted


def clear_expired_logins() -> None:
    """Delete expired login sessions, as Django's `clearsessions` does."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()


def delete_old_accesses() -> int:
    """Delete records older than `access_log_days`, unless the setting is 0; return their number.

    A function of the database deletes them, and none that is younger than 30 days.
    """
    days = conf().access_log_days
    if not days:
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT adk_delete_accesses(%s)", [days])
        deleted: int = cursor.fetchone()[0]
    return deleted
