"""Legal holds: set, lift, and filter sessions by them."""

from django.db.models import QuerySet
from django.db.models.functions import Now

from sessions_app.base.actors import Actor
from sessions_app.models import LegalHold, Session


def without_held(sessions: QuerySet[Session]) -> QuerySet[Session]:
    """Return the sessions without an active hold on them or on their user."""
    holds = LegalHold.objects.active()
    sessions = sessions.exclude(pk__in=holds.filter(session__isnull=False).values("session"))
    return sessions.exclude(user__in=holds.filter(user__isnull=False).values("user"))


def set_hold(hold: LegalHold, *, by: Actor) -> None:
    """Store a new hold with its author."""
    hold.set_by_id = by.user_pk
    hold.set_by_name = by.name
    hold.save(force_insert=True)


def lift_hold(hold: LegalHold, *, by: Actor, reason: str) -> bool:
    """Lift the hold; return False if somebody has lifted the hold before."""
    active = LegalHold.objects.active().filter(pk=hold.pk)
    lifted = {"lifted_by_id": by.user_pk, "lifted_by_name": by.name, "lift_reason": reason}
    return bool(active.update(lifted_at=Now(), **lifted))
