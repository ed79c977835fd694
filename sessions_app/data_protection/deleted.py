"""Erasure of sessions deleted by their users, after the time to undo the deletion."""

from contextlib import suppress
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from sessions_app.conf import conf
from sessions_app.data_protection.erase import ErasureOrder, erase_session
from sessions_app.data_protection.holds import without_held
from sessions_app.errors import LegalHoldError, NotFoundError
from sessions_app.models import Session
from sessions_app.process.sweeping import OverdueRows, Repair


def deleted_session_repair() -> Repair:
    """Return the repair that erases deleted sessions. A session under legal hold stays hidden."""
    return OverdueRows(_overdue, _erase)


def _overdue() -> QuerySet[Session]:
    return without_held(_deleted_long_ago()).only("pk", "user_id").order_by("deleted_at")


def _deleted_long_ago() -> QuerySet[Session]:
    deleted_before = timezone.now() - timedelta(seconds=conf().deletion_undo_seconds)
    return Session.objects.filter(deleted_at__lt=deleted_before)


def _erase(session: Session) -> None:
    order = ErasureOrder(reason="Deleted by its user.", by=session.user_id)
    # `among` repeats the condition under the lock of the row.
    with suppress(NotFoundError, LegalHoldError):  # restored, erased or held in the meantime
        erase_session(session.pk, order, among=_deleted_long_ago())
