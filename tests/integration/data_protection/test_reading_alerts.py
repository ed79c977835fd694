"""Alerts on unusual reading by staff: once for a person and an hour, to a group, and as an act of the site."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import Group, User
from django.core import mail
from django.db import connections
from django.utils import timezone
from pytest_django import Settings

from sessions_app.conf import Conf
from sessions_app.data_protection.reading_alerts import reading_alerts
from sessions_app.models import StaffAccess, StaffAct, WaitingMail, Webhook, WebhookDelivery
from sessions_app.process.group_mail import waiting_mails

pytestmark = pytest.mark.django_db
EVENT = "reading.unusual"


@pytest.fixture(autouse=True)
def group(settings: Settings) -> Group:
    """A group with one member who has mail and webhooks."""
    settings.ADK = {**settings.ADK, "reading_alert_rows": 3, "reading_alert_group": "watch"}
    group = Group.objects.create(name="watch")
    member = User.objects.create_user("vera", email="vera@example.org")
    member.groups.add(group)
    for events in ([EVENT], ["run.ended"]):
        add_hook(member, events)
    add_hook(User.objects.create_user("eve", email="eve@example.org"), [EVENT])
    return group


def add_hook(owner: User, events: list[str]) -> None:
    Webhook.objects.create(user=owner, url="https://example.org/hook", secret="", events=events)


def read(name: str, *keys: str, **values: Any) -> None:
    """Store accesses of a member of staff to sessions."""
    for key in keys:
        fields = {"kind": "open", "subject_kind": "session", "subject_id": key, **values}
        StaffAccess.objects.create(actor_kind="staff", actor_id=f"id-{name}", actor_name=name, **fields)


def sweep() -> None:
    for repair in reading_alerts():
        repair(1.0)
    waiting_mails()(1.0)


def alerts() -> list[tuple[str, str]]:
    return list(StaffAct.objects.order_by("pk").values_list("subject_id", "reason"))


def test_who_opens_many_rows_within_an_hour_causes_one_alert() -> None:
    read("grace", *"aaabbbcc")
    read("grace", "", "", "", kind="search")
    read("alan", *"ab")
    sweep()
    assert alerts() == [] and mail.outbox == []
    read("grace", "c", subject_kind="event")
    sweep()
    sweep()
    assert alerts() == [("id-grace", "Opened 4 sessions and other rows within an hour.")]
    act = StaffAct.objects.get()
    assert (act.action, act.actor_kind, act.subject_kind) == ("alert", "site", "user")
    (sent,) = mail.outbox
    assert sent.to == ["vera@example.org"] and "unusual reading by grace" in sent.subject
    assert "Opened 4 sessions" in sent.body and "/admin/sessions_app/staffaccess/?q=grace" in sent.body
    delivery = WebhookDelivery.objects.get()
    assert (delivery.webhook.user.username, delivery.event) == ("vera", EVENT)
    assert delivery.payload["data"] == {"staff_id": "id-grace", "rows": 4, "outside_of_working_hours": 0}


def test_going_on_causes_the_next_alert_an_hour_later() -> None:
    read("grace", *"abcd")
    sweep()
    ago = timezone.now() - timedelta(minutes=61)
    StaffAct.objects.update(at=ago)
    StaffAccess.objects.update(at=ago)
    sweep()
    assert len(alerts()) == 1
    read("grace", *"abcd")
    sweep()
    assert len(alerts()) == 2 == len(mail.outbox)


@pytest.mark.parametrize(
    ("hours", "hour", "is_odd"),
    [
        ((7, 19), 6, True), ((7, 19), 7, False), ((7, 19), 18, False), ((7, 19), 19, True), ((0, 24), 23, False),
        ((22, 6), 23, False), ((22, 6), 5, False), ((22, 6), 6, True), ((22, 6), 21, True),
    ],
)  # fmt: skip
def test_reading_outside_of_the_working_hours_of_the_site_causes_an_alert(
    settings: Settings, hours: tuple[int, int], hour: int, is_odd: bool
) -> None:
    settings.TIME_ZONE = "Asia/Tokyo"  # without a summer time
    settings.ADK = {**settings.ADK, "reading_alert_rows": 0, "working_hours": hours}
    in_tokyo = datetime(2026, 5, 4, hour, 30, tzinfo=UTC) - timedelta(hours=9)
    read("grace", "a", "a")
    StaffAccess.objects.update(at=in_tokyo)  # the database sets the time
    with patch("sessions_app.data_protection.reading_alerts.HOUR", timezone.now() - in_tokyo + timedelta(1)):
        sweep()
    expected = [("id-grace", "Read 2 times outside of the working hours.")] if is_odd else []
    assert alerts() == expected


def test_a_name_with_a_line_end_keeps_no_alert_back() -> None:
    read("grace\r\nBcc: eve@example.org", *"abcd")
    sweep()
    (sent,) = mail.outbox
    assert sent.subject.endswith(": unusual reading by grace Bcc: eve@example.org")
    assert sent.recipients() == ["vera@example.org"] and not WaitingMail.objects.exists()


def test_two_sweeps_at_once_cause_one_alert(transactional_db: None, group: Group) -> None:
    read("grace", *"abcd")

    def sweep_alone(_: int) -> None:
        try:
            sweep()
        finally:
            connections.close_all()

    with ThreadPoolExecutor() as pool:
        list(pool.map(sweep_alone, range(4)))
    assert len(alerts()) == 1 == len(mail.outbox)


def test_act_and_webhook_stay_while_the_mail_server_is_down_and_the_mail_is_sent_later_once(
    settings: Settings,
) -> None:
    read("grace", *"abcd")
    backend = settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_PORT = 1  # nobody listens there
    sweep()
    assert len(alerts()) == 1 == WebhookDelivery.objects.count() and not mail.outbox
    settings.EMAIL_BACKEND = backend
    sweep()
    assert not mail.outbox, "the next attempt is a minute later"
    WaitingMail.objects.update(due_at=timezone.now())
    sweep()
    sweep()
    assert len(alerts()) == 1 == WebhookDelivery.objects.count() == len(mail.outbox)
    assert "Opened 4 sessions" in mail.outbox[0].body and not WaitingMail.objects.exists()


def test_without_a_limit_nothing_is_looked_at(settings: Settings) -> None:
    settings.ADK = {**settings.ADK, "reading_alert_rows": 0}
    assert reading_alerts() == []


@pytest.mark.parametrize(
    "values", [{"working_hours": (7, 25)}, {"working_hours": (7,)}, {"reading_alert_rows": -1}]
)
def test_a_wrong_setting_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        Conf(**values)
