"""Erasure of sessions after a time: unused for `retention_days`, never begun, or deleted by their user."""

import logging
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import CharField, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Cast
from django.template.defaultfilters import pluralize
from django.utils import timezone

from sessions_app.conf import conf
from sessions_app.data_protection.erase import ErasureOrder, erase_session
from sessions_app.errors import LegalHoldError, NotFoundError
from sessions_app.models import (
    Invocation,
    InvocationStatus,
    JobStatus,
    LegalHold,
    ScheduledTask,
    Session,
    ToolJob,
)
from sessions_app.process.sweeping import OverdueRows, Repair

logger = logging.getLogger(__name__)
UNSENT_DAYS = 7
"""Days after which files of a new chat are erased if no message was sent with them."""


def expired_sessions() -> Iterator[tuple[str, QuerySet[Session]]]:
    """Yield each reason for expiry in words with its sessions, the longest unused first.

    Sessions are kept while they have queued or running work, an active scheduled task, or a legal hold.
    """
    for days, unused in unused_sessions("retention_days"):
        yield (
            f"not used for {days} day{pluralize(days)}",
            _exclude_in_use(unused).order_by("updated_at", "pk"),
        )
    yield (
        f"without a message for {UNSENT_DAYS} days",
        _exclude_in_use(_never_begun()).order_by("updated_at", "pk"),
    )


def unused_sessions(setting: str) -> Iterator[tuple[int, QuerySet[Session]]]:
    """Yield each number of days that a setting has, except 0, with the sessions that were not used for so long."""
    days_by_app = conf().by_app(setting)
    default = days_by_app.pop("")
    # One query for each app with its own setting, and one for all others: sessions of apps that the site does not
    # serve any more follow the default.
    settings = [(days, Q(app_name=app)) for app, days in days_by_app.items()]
    for days, of_apps in [*settings, (default, ~Q(app_name__in=days_by_app))]:
        if days:
            yield days, Session.objects.filter(of_apps, updated_at__lt=timezone.now() - timedelta(days=days))


def _never_begun() -> QuerySet[Session]:
    """Return old sessions created for the upload of a file, without a message."""
    # Not the sessions of clients of the ADK API, which have a key of their own or a state.
    created_by_pages = Session.objects.filter(key=Cast("pk", CharField()), initial_state={})
    old = created_by_pages.filter(updated_at__lt=timezone.now() - timedelta(days=UNSENT_DAYS))
    return old.filter(~Exists(Invocation.objects.filter(session=OuterRef("pk"))), title="", last_seq=0)


def _exclude_in_use(sessions: QuerySet[Session]) -> QuerySet[Session]:
    in_use: tuple[QuerySet[Any], ...] = (
        Invocation.objects.filter(status__in=InvocationStatus.active()),
        ToolJob.objects.filter(status__in=JobStatus.active()),
        ScheduledTask.objects.filter(next_at__isnull=False),
    )
    for rows in in_use:
        sessions = sessions.exclude(pk__in=rows.values("session"))
    return without_held(sessions)


def without_held(sessions: QuerySet[Session]) -> QuerySet[Session]:
    """Return the sessions without an active hold on them or on their user."""
    holds = LegalHold.objects.active()
    sessions = sessions.exclude(pk__in=holds.filter(session__isnull=False).values("session"))
    return sessions.exclude(user__in=holds.filter(user__isnull=False).values("user"))


def erase_expired_sessions() -> int:
    """Erase up to `retention_batch` expired sessions; return their number. The next run erases the rest."""
    erased = 0
    for reason, sessions in expired_sessions():
        order = ErasureOrder(reason=f"{reason.capitalize()}.")
        for session_pk in list(sessions.values_list("pk", flat=True)[: conf().retention_batch - erased]):
            erased += _try_erase(session_pk, order, sessions)
    return erased


def _try_erase(session_pk: UUID, order: ErasureOrder, expired: QuerySet[Session]) -> bool:
    """Erase the session; return False on failure. The caller continues with other sessions."""
    try:
        # `among` checks again that the session is unused: earlier erasures of this run may have taken minutes.
        erase_session(session_pk, order, among=expired)
    except (NotFoundError, LegalHoldError):  # used, erased or held in the meantime
        return False
    except Exception:
        logger.exception(
            "Session %s could not be erased after its retention; the next run tries again",
            session_pk,
            extra={"session_id": str(session_pk)},
        )
        return False
    return True


def deleted_session_repair() -> Repair:
    """Return the repair that erases deleted sessions. A session under legal hold stays hidden."""
    return OverdueRows(_overdue, _erase_deleted)


def _overdue() -> QuerySet[Session]:
    return without_held(_deleted_long_ago()).only("pk", "user_id").order_by("deleted_at")


def _deleted_long_ago() -> QuerySet[Session]:
    deleted_before = timezone.now() - timedelta(seconds=conf().deletion_undo_seconds)
    return Session.objects.filter(deleted_at__lt=deleted_before)


def _erase_deleted(session: Session) -> None:
    order = ErasureOrder(reason="Deleted by its user.", by=session.user_id)
    # `among` repeats the condition under the lock of the row.
    with suppress(NotFoundError, LegalHoldError):  # restored, erased or held in the meantime
        erase_session(session.pk, order, among=_deleted_long_ago())
