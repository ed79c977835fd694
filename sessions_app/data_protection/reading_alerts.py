"""Alerts on unusual reading by staff: many rows within an hour, or reading outside of the working hours.

A sweep looks at the accesses of the last hour. An alert is an act of the site, a mail to a group, and an event for the
webhooks of its members, stored in one transaction: a mail server that is down delays the mail alone. Staff who keep
reading cause the next alert an hour later.
"""

import logging
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models import Count, Max, Q
from django.db.models.functions import Concat, ExtractHour, Now
from django.utils import timezone

from sessions_app.base.actors import SITE, ActionKind, ActorKind
from sessions_app.conf import conf
from sessions_app.models import StaffAccess, StaffAct
from sessions_app.process.group_mail import admin_link, mail_group
from sessions_app.process.sweeping import Repair
from sessions_app.webhooks.changes import stage_reading_alert

logger = logging.getLogger(__name__)
HOUR = timedelta(hours=1)
_LOCK = "SELECT pg_try_advisory_xact_lock(hashtext('adk:reading'))"


@dataclass(frozen=True)
class Reading:
    """Conversations that a member of staff has read in the last hour.

    Attributes:
        rows: sessions and other rows with words of conversations.
        odd_rows: number of accesses outside of the working hours.
    """

    staff_id: str
    name: str
    rows: int
    odd_rows: int

    @property
    def sentences(self) -> list[str]:
        """Sentences about what is unusual; empty for usual reading."""
        most = conf().reading_alert_rows
        found = []
        if most and self.rows > most:
            found.append(f"Opened {self.rows} sessions and other rows within an hour.")
        if self.odd_rows:
            found.append(f"Read {self.odd_rows} times outside of the working hours.")
        return found


def reading_alerts() -> list[Repair]:
    """Return the repair that alerts; none when the site sets no limits."""
    if conf().reading_alert_rows or conf().working_hours:
        return [_alert]
    return []


def _alert(seconds: float) -> bool:
    for reading in _readings():
        if reading.sentences:
            try:
                _alert_once(reading)
            except Exception:  # Others are looked at nevertheless; the next sweep tries again.
                logger.exception("There was no alert on the reading of %s", reading.name)
    return False


def _readings() -> list[Reading]:
    local_hour = ExtractHour("at", tzinfo=timezone.get_default_timezone())
    recent = StaffAccess.objects.filter(actor_kind=ActorKind.STAFF, at__gt=Now() - HOUR)
    people = (
        recent.annotate(local_hour=local_hour)
        .values("actor_id")
        .annotate(
            name=Max("actor_name"),
            rows=Count(Concat("subject_kind", "subject_id"), distinct=True, filter=~Q(subject_id="")),
            odd_rows=Count("pk", filter=_outside_of_working_hours()),
        )
    )
    return [Reading(row["actor_id"], row["name"], row["rows"], row["odd_rows"]) for row in people]


def _outside_of_working_hours() -> Q:
    """Return a filter for accesses outside of `working_hours`, in the site's time zone."""
    hours = conf().working_hours
    if not hours:
        return Q(pk=None)
    begin, end = hours
    at_begin = Q(local_hour__gte=begin)
    before_end = Q(local_hour__lt=end)
    # The working hours of a night begin on the day before.
    return ~(at_begin & before_end) if begin <= end else ~(at_begin | before_end)


@transaction.atomic
def _alert_once(reading: Reading) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_LOCK)
        (is_mine,) = cursor.fetchone()
    kind = str(get_user_model()._meta.model_name)
    alerts = StaffAct.objects.filter(action=ActionKind.ALERT, subject_kind=kind, subject_id=reading.staff_id)
    if not is_mine or alerts.filter(at__gt=Now() - HOUR).exists():
        return
    StaffAct.objects.create(
        **SITE.columns(),
        action=ActionKind.ALERT,
        subject_kind=kind,
        subject_id=reading.staff_id,
        reason=" ".join(reading.sentences),
    )
    group = conf().reading_alert_group
    stage_reading_alert(group, reading.staff_id, reading.rows, reading.odd_rows)
    link = admin_link("sessions_app_staffaccess_changelist")
    if link:
        link = f"{link}?{urlencode({'q': reading.name})}"
    mail_group(group, f"unusual reading by {reading.name}", [*reading.sentences, link])
