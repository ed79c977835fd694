"""Deletion of sessions, after a check of the legal holds. A function of the database deletes the evidence."""

from __future__ import annotations

from django.db import connection, transaction
from django.db.models import QuerySet

from sessions_app.errors import LegalHoldError
from sessions_app.models import LegalHold, Session, Tombstone
from sessions_app.store.unused_texts import delete_unused_texts


def delete_session_row(rows: QuerySet[Session], tombstone: Tombstone | None = None) -> None:
    """Delete the first of the sessions with all its rows; do nothing when there is none.

    Args:
        tombstone: the unfinished tombstone of the session or of its user.

    Raises:
        LegalHoldError: the session or its user is under legal hold.
    """
    with transaction.atomic():
        # Lock order: session row before its events, as in an append; avoids deadlocks and orphaned events.
        if session := rows.select_for_update().first():
            refuse_if_held(LegalHold.objects.of_session(session.pk, session.user_id))
            texts = list(session.request_texts.values_list("text_id", flat=True))
            with connection.cursor() as cursor:
                # Also records the erasure (`ErasedSession`).
                cursor.execute(
                    "SELECT adk_erase_session(%s, %s)", [session.pk, tombstone.pk if tombstone else None]
                )
            session.delete()
            # After the commit, because appends wait for the deletion of texts. Housekeeping deletes the texts that a
            # crash leaves.
            transaction.on_commit(lambda: delete_unused_texts(texts), robust=True)


def refuse_if_held(holds: QuerySet[LegalHold]) -> None:
    """Raise `LegalHoldError` with the name of the first hold; do nothing when there is none."""
    if hold := holds.order_by("pk").first():
        raise LegalHoldError(
            f"There is a {hold}: nothing that it covers may be erased. Staff with the permission can lift it."
        )
