"""Deletion of sessions: the only code to delete events, after a check of the legal holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from django.db import connection, transaction
from django.db.models import QuerySet

from sessions_app.errors import LegalHoldError
from sessions_app.models import LegalHold, Session
from sessions_app.store.unused_texts import delete_unused_texts


@contextmanager
def erasing() -> Iterator[None]:
    """Let a transaction change and delete events, which the database refuses otherwise."""
    with transaction.atomic():
        permit_erasing()
        yield


def permit_erasing() -> None:
    """Let the current transaction change and delete events until it ends."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL adk.erasing = 'on'")


def delete_session_row(rows: QuerySet[Session]) -> None:
    """Delete the first of the sessions with all its rows; do nothing when there is none.

    Raises:
        LegalHoldError: the session or its user is under legal hold.
    """
    with erasing():
        # Lock order: session row before its events, as in an append; avoids deadlocks and orphaned events.
        if session := rows.select_for_update().first():
            refuse_if_held(LegalHold.objects.of_session(session.pk, session.user_id))
            texts = list(session.request_texts.values_list("text_id", flat=True))
            session.delete()
            # After the commit, because appends wait for the deletion of texts. Housekeeping deletes the texts that a
            # crash leaves.
            transaction.on_commit(partial(delete_unused_texts, texts), robust=True)


def refuse_if_held(holds: QuerySet[LegalHold]) -> None:
    """Raise `LegalHoldError` with the name of the first hold; do nothing when there is none."""
    if hold := holds.order_by("pk").first():
        raise LegalHoldError(
            f"There is a {hold}: nothing that it covers may be erased. Staff with the permission can lift it."
        )
