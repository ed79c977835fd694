"""Deletion of unused texts of model requests: texts without a reference of a session.

Sessions share texts, so a text cannot be deleted with a session. Appends may add references during a deletion: an
advisory lock, shared by appends and exclusive here, keeps a text from being deleted just after it got a reference.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, OuterRef

from sessions_app.models import RequestText, SessionText

TEXTS_PER_TRANSACTION = 500
_UNUSED = RequestText.objects.filter(~Exists(SessionText.objects.filter(text_id=OuterRef("pk"))))


def delete_all_unused_texts() -> int:
    """Delete all unused texts; return their number."""
    return delete_unused_texts(_UNUSED.values_list("pk", flat=True).iterator(TEXTS_PER_TRANSACTION))


def delete_unused_texts(ids: Iterable[UUID]) -> int:
    """Delete the given texts unless a session refers to them; return the number of deleted texts. Idempotent.

    Call it outside of a transaction: appends with new texts wait for the end of the deleting transaction.
    """
    remaining = iter(ids)
    deleted = 0
    while batch := list(islice(remaining, TEXTS_PER_TRANSACTION)):
        deleted += _delete_batch(batch)
    return deleted


def _delete_batch(ids: list[UUID]) -> int:
    unused = _UNUSED.filter(pk__in=ids)
    if not unused.exists():  # the usual case, in which no append has to wait
        return 0
    with transaction.atomic():
        with connection.cursor() as cursor:
            # Appends with references hold the lock shared. After an earlier append the text is in use and stays; a
            # later append finds no text and stores it again.
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('adk:texts'))")
        deleted, _ = unused.delete()
    return deleted
