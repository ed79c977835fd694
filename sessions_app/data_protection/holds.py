"""Setting and lifting of legal holds."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Now

from sessions_app.models import LegalHold, Session


def without_held(sessions: QuerySet[Session]) -> QuerySet[Session]:
    """Return the sessions that neither a hold on the session nor one on its user covers."""
    holds = LegalHold.objects.active()
    sessions = sessions.exclude(pk__in=holds.filter(session__isnull=False).values("session"))
    return sessions.exclude(user__in=holds.filter(user__isnull=False).values("user"))


def set_hold(hold: LegalHold, *, by: Any) -> None:
    """Store a new hold and the user who sets it."""
    hold.set_by_id = by
    hold.save(force_insert=True)


def lift_hold(hold: LegalHold, *, by: Any, reason: str) -> bool:
    """Lift the hold. False, with nothing written, when it was lifted before."""
    active = LegalHold.objects.active().filter(pk=hold.pk)
    return bool(active.update(lifted_at=Now(), lifted_by_id=by, lift_reason=reason))
