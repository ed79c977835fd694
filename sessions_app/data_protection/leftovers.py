"""Deletion of stored files without a row, of expired login sessions, and of old records of accesses of staff.

The bytes of a file are stored before its row is committed, and deleted after the deletion of its row is committed.
A process that dies between the two leaves a file without a row, but no row without a file.
"""

import logging
from collections.abc import Iterable
from datetime import timedelta
from importlib import import_module
from itertools import islice
from typing import Any

from django.conf import settings
from django.core.files.storage import Storage
from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from sessions_app.conf import conf
from sessions_app.models import Artifact, CaseEntry, CaseItem, ErasedSession, KnowledgeVersion, Pack
from sessions_app.models.pack import FOLDER as PACKS

logger = logging.getLogger(__name__)
_ITEMS = CaseItem.objects.filter(case=OuterRef(OuterRef("case")))
_ERASED = ErasedSession.objects.filter(at__gte=OuterRef("at"), session_id__in=_ITEMS.values("session_id"))
FOLDERS: tuple[tuple[str, QuerySet[Any], str], ...] = (
    ("artifacts", Artifact.objects.all(), "file"),
    (PACKS, Pack.objects.all(), "file"),
    ("knowledge", KnowledgeVersion.objects.all(), "file"),
    # The row of a seal stays when a session of its bundle is erased.
    ("cases", CaseEntry.objects.exclude(Exists(_ERASED)), "bundle"),
)
"""Folders of the storage, with the rows that need a file, and its field."""
FILES_PER_QUERY = 500
ORPHAN_AGE = timedelta(days=1)
"""A younger file may belong to a row that is not committed yet."""


def delete_orphaned_files() -> int:
    """Delete files without a row after a day; return their number."""
    return sum(_delete_orphans_in(*folder) for folder in FOLDERS)


def _delete_orphans_in(folder: str, needed: QuerySet[Any], field: str) -> int:
    storage: Storage = needed.model._meta.get_field(field).storage
    try:
        _, names = storage.listdir(folder)
    except FileNotFoundError:  # no file was saved yet
        return 0
    # Batches bound the length of the query: a storage may have very many files.
    remaining = iter(names)
    deleted = 0
    while batch := list(islice(remaining, FILES_PER_QUERY)):
        paths = {f"{folder}/{name}" for name in batch}
        rows = needed.filter(**{f"{field}__in": paths})
        deleted += _delete_old(storage, paths - set(rows.values_list(field, flat=True)))
    return deleted


def _delete_old(storage: Storage, orphans: Iterable[str]) -> int:
    deleted = 0
    for path in sorted(orphans):
        try:
            if timezone.now() - storage.get_modified_time(path) > ORPHAN_AGE:
                storage.delete(path)
                deleted += 1
        except OSError:  # deleted in the meantime, or unreadable: continue with the other files
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
