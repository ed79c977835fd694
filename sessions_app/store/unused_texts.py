"""Deletion of texts of model requests that no session refers to any more."""

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
    """Delete all texts that no session refers to; return their number."""
    return delete_unused_texts(_UNUSED.values_list("pk", flat=True).iterator(TEXTS_PER_TRANSACTION))


def delete_unused_texts(ids: Iterable[UUID]) -> int:
    """Delete the given texts that no session refers to; return their number. Idempotent.

    Call it outside of a transaction: appends with new texts wait for the end of the transaction that deletes a batch.
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
            # An append that adds a reference holds the lock shared. Before this deletion it finds the text, which then
            # stays; after the deletion it stores the text again.
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('adk:texts'))")
        deleted, _ = unused.delete()
    return deleted
