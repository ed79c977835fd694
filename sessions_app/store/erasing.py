"""Deletion of sessions, after a check of the legal holds, and of the texts of model requests that nothing uses.

A function of the database deletes the evidence. Sessions share texts, so a text cannot be deleted with a session.
Appends may add references during a deletion: an advisory lock, shared by appends and exclusive here, keeps a text from
being deleted just after it got a reference.
"""

from collections.abc import Iterable
from itertools import islice
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from sessions_app.errors import LegalHoldError
from sessions_app.models import LegalHold, Pack, RequestText, Session, SessionText, Tombstone
from sessions_app.models.stored_files import delete_after_commit

TEXTS_PER_TRANSACTION = 500
_UNUSED = RequestText.objects.filter(~Exists(SessionText.objects.filter(text_id=OuterRef("pk"))))


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
            pack = Pack.objects.filter(pk=session.pk).first()
            with connection.cursor() as cursor:
                # Also records the erasure (`ErasedSession`).
                cursor.execute(
                    "SELECT adk_erase_session(%s, %s)", [session.pk, tombstone.pk if tombstone else None]
                )
            session.delete()
            if pack:
                delete_after_commit(pack.file, connection.alias)
            # After the commit, because appends wait for the deletion of texts. Housekeeping deletes the texts that a
            # crash leaves.
            transaction.on_commit(lambda: delete_unused_texts(texts), robust=True)


def refuse_if_held(holds: QuerySet[LegalHold]) -> None:
    """Raise `LegalHoldError` with the name of the first hold; do nothing when there is none.

    In a transaction that erases, no hold is set between this check and the commit: see `wait_for_erasures`.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(hashtext('adk:holds'))")
    if hold := holds.order_by("pk").first():
        raise LegalHoldError(
            f"There is a {hold}: nothing that it covers may be erased. Staff with the permission can lift it."
        )


def wait_for_erasures() -> None:
    """Wait until all transactions that have found no legal hold have ended.

    Call it in the transaction that sets a hold, after the insert: who is told that a hold is set must not see anything
    erased afterwards, and a later erasure finds the hold. The insert comes first because it locks the session or user.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('adk:holds'))")


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
