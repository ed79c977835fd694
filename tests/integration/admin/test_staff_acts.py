"""Acts of staff: actor, time, address and reason are recorded, and survive the account of the actor."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from sessions_app.base import actors
from sessions_app.base.actors import Act, ActionKind
from sessions_app.invocations.cancel import cancel_invocation
from sessions_app.invocations.retry import queue_again
from sessions_app.jobs import response as job_response
from sessions_app.jobs.cancel import cancel_job, cancellation_error
from sessions_app.models import Invocation, LegalHold, ScheduledTask, Session, SessionAct, StaffAct, ToolJob
from sessions_app.process import threads
from sessions_app.scheduling.session_tasks import cancel_task
from tests.integration.admin.audit_rows import HOSTILE, make_job, make_scheduled_task, read
from tests.integration.jobs.job_helpers import run_queue

pytestmark = pytest.mark.usefixtures("transactional_db", "background_end")
ADDRESS = "203.0.113.7"


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_response, "offer_session", lambda session_id: None)


@pytest.fixture
def root(client: Client) -> User:
    client.defaults["REMOTE_ADDR"] = ADDRESS
    user = User.objects.create_superuser("grace")
    client.force_login(user)
    return user


@pytest.fixture(params=["invocation", "job"])
def row(request: pytest.FixtureRequest, session: Session) -> Any:
    if request.param == "job":
        return make_job(session)
    return Invocation.objects.create(session=session, invocation_id="e-1", client_id="m-1", message={})


def url_of(row: Any, page: str) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{page}", args=[row.pk])


def test_08_a_stop_is_recorded_with_actor_time_address_and_reason(
    client: Client, root: User, row: Any
) -> None:
    client.post(url_of(row, "stop"), {"reason": HOSTILE})
    act = StaffAct.objects.get()
    assert (act.actor_kind, act.actor_id, act.actor_name, act.address) == (
        "staff", str(root.pk), "grace", ADDRESS,
    )  # fmt: skip
    assert (act.action, act.subject_kind, act.subject_id, act.reason) == (
        "stop", row._meta.model_name, str(row.pk), HOSTILE,
    )  # fmt: skip
    assert abs((datetime.now(UTC) - act.at).total_seconds()) < 60
    assert "Stop" in read(client, url_of(row, "history"))
    assert f"staff <bdi>grace</bdi> from {ADDRESS}: <bdi>{escape(HOSTILE)}</bdi>" in read(
        client, url_of(row, "change")
    )


def test_whoever_may_view_a_row_reads_who_acted_on_it_and_why_and_lists_of_acts_need_their_own_right(
    client: Client, root: User, row: Any
) -> None:
    """Reasons are words of staff, not of the conversation: they need no right to read texts."""
    client.post(url_of(row, "stop"), {"reason": "It hung."})
    reader = User.objects.create_user("reader", is_staff=True)
    pages = (url_of(row, "history"), url_of(row, "change"))
    acts = reverse("admin:sessions_app_staffact_changelist")
    client.force_login(reader)
    assert {client.get(page).status_code for page in pages} <= {403, 404}
    reader.user_permissions.add(Permission.objects.get(codename=f"view_{row._meta.model_name}"))
    for page in pages:
        assert "It hung." in read(client, page), page
    assert client.get(acts).status_code == 403
    reader.user_permissions.add(Permission.objects.get(codename="view_staffact"))
    assert "It hung." in read(client, acts)


def test_the_name_and_the_record_survive_the_deletion_of_the_account(
    client: Client, root: User, row: Any
) -> None:
    client.post(url_of(row, "stop"), {"reason": "It loops"})
    root.delete()
    row.refresh_from_db()
    assert (row.cancelled_by, row.cancelled_by_name, row.cancel_reason) == (None, "grace", "It loops")
    assert StaffAct.objects.get().actor_name == "grace"
    client.force_login(User.objects.create_superuser("other"))
    page = reverse("admin:sessions_app_session_change", args=[row.session_id])
    for url in (url_of(row, "change"), page, reverse("admin:sessions_app_staffact_changelist")):
        assert "grace" in read(client, url), url


def test_the_chat_says_stopped_by_staff_when_the_account_is_gone_before_the_end(
    root: User, session: Session
) -> None:
    job = make_job(session, status="running")
    cancel_job(job.pk, by=actors.staff(root, ADDRESS))
    root.delete()
    assert cancellation_error(job.pk) == "The job was stopped by staff."
    own = make_job(session, call_id="c-2", status="running")
    cancel_job(own.pk, by=actors.person(session.user))
    assert cancellation_error(own.pk) == "The job was cancelled."


def test_staff_who_stop_a_job_of_their_own_chat_read_who_stopped_it(session: Session) -> None:
    job = make_job(session, status="running")
    cancel_job(job.pk, by=actors.staff(session.user, ADDRESS))
    cancel_job(job.pk, by=actors.person(session.user))
    assert cancellation_error(job.pk) == "The job was stopped by staff."


def test_an_invocation_that_ends_after_the_account_is_gone_was_stopped_by_staff(
    root: User, session: Session
) -> None:
    # An answer does not end with the request to cancel it: the process that claims it reads the row.
    row = Invocation.objects.create(
        session=session, invocation_id="e-9", client_id="job:1", message={"parts": []}
    )
    threads.run(cancel_invocation(session, "e-9", by=actors.staff(root, ADDRESS)))
    root.delete()
    run_queue(session.pk)
    row.refresh_from_db()
    assert (row.status, row.error_message) == ("cancelled", "Stopped by staff")


def test_a_person_who_stops_a_retry_stops_it_although_staff_stopped_what_was_retried(
    root: User, session: Session
) -> None:
    row = Invocation.objects.create(
        session=session, invocation_id="e-9", client_id="job:1", message={"parts": []}, status="failed"
    )
    stop = Act(actors.staff(root, ADDRESS), ActionKind.STOP, ("invocation", "e-9"))
    SessionAct.objects.record(session.pk, stop)
    by_person = actors.person(session.user)
    threads.run(queue_again(session, "e-9", by_person))
    threads.run(cancel_invocation(session, "e-9", by=by_person))
    run_queue(session.pk)
    row.refresh_from_db()
    assert (row.status, row.error_message) == ("cancelled", "Stopped")


def test_the_name_is_kept_for_a_scheduled_task(session: Session) -> None:
    task = make_scheduled_task(session)
    cancel_task(session.pk, task.pk, actors.person(session.user))
    stored = ScheduledTask.objects.get()
    assert (stored.cancelled_by, stored.cancelled_by_name) == (session.user, "ada")


def test_holds_users_and_groups_are_recorded_too(client: Client, root: User, person: User) -> None:
    client.post(reverse("admin:sessions_app_legalhold_add"), {"user": person.pk, "reason": "A court asked."})
    hold = LegalHold.objects.get()
    client.post(url_of(hold, "lift"), {"reason": "The case is closed."})
    client.post(reverse("admin:auth_group_add"), {"name": "auditors"})
    group = Group.objects.get()
    permission = Permission.objects.get(codename="view_session", content_type__app_label="sessions_app").pk
    client.post(url_of(group, "change"), {"name": "auditors", "permissions": [permission]})
    client.post(url_of(person, "delete"), {"reason": "She asked."})
    acts = StaffAct.objects.order_by("pk").values_list(
        "action", "subject_kind", "subject_id", "reason", "address"
    )
    assert list(acts) == [
        ("add", "legalhold", str(hold.pk), "", ADDRESS),
        ("lift", "legalhold", str(hold.pk), "The case is closed.", ADDRESS),
        ("add", "group", str(group.pk), "", ADDRESS),
        ("change", "group", str(group.pk), "", ADDRESS),
        ("delete", "user", str(person.pk), "She asked.", ADDRESS),
    ]
    assert LogEntry.objects.filter(action_flag=2).count() == 2


def test_the_record_of_a_change_names_the_rights_that_were_given_and_taken(
    client: Client, root: User, person: User
) -> None:
    groups = {name: Group.objects.create(name=name) for name in ("auditors", "operators")}
    person.groups.set([groups["operators"]])
    may_erase = Permission.objects.get(codename="erase_data")
    data = {
        "username": person.username, "email": "ada@example.org", "groups": [groups["auditors"].pk],
        "user_permissions": [may_erase.pk], "is_active": "on", "is_superuser": "on", "date_joined_0": "2026-11-01",
        "date_joined_1": "10:00:00",
    }  # fmt: skip
    assert client.post(url_of(person, "change"), data).status_code == 302
    changes = StaffAct.objects.get(subject_kind="user").detail
    assert set(changes[1:-1].split("; ")) == {
        "Email address", "Superuser status: yes", "Groups: added auditors", "Groups: removed operators",
        f"User permissions: added {may_erase.name}", "Date joined",
    }  # fmt: skip
    assert "Groups: removed operators" in read(client, reverse("admin:sessions_app_staffact_all"))
    client.post(reverse("admin:sessions_app_remit_add"), {"group": groups["auditors"].pk, "app_name": "shop"})
    assert "Group: auditors" in StaffAct.objects.get(subject_kind="remit").detail


def test_many_changes_are_recorded_as_several_acts(client: Client, root: User) -> None:
    group = Group.objects.create(name="auditors")
    rights = Permission.objects.filter(content_type__app_label="sessions_app")
    data = {"name": "auditors", "permissions": rights.values_list("pk", flat=True)}
    assert client.post(url_of(group, "change"), data).status_code == 302
    acts = StaffAct.objects.filter(subject_kind="group").order_by("pk")
    shown = "; ".join(act.detail[1:-1] for act in acts)
    assert len(acts) > 1 and set(shown.split("; ")) == {
        f"Permissions: added {right.name}" for right in rights
    }


def test_acts_are_read_only_and_escaped(client: Client, root: User, row: Any) -> None:
    client.post(url_of(row, "stop"), {"reason": HOSTILE})
    act = StaffAct.objects.get()
    assert HOSTILE not in read(client, reverse("admin:sessions_app_staffact_changelist"))
    assert HOSTILE not in read(client, url_of(act, "change"))
    assert client.post(url_of(act, "change"), {"reason": "none"}).status_code == 403
    assert client.post(url_of(act, "delete"), {"post": "yes"}).status_code == 403
    assert client.post(reverse("admin:sessions_app_staffact_add"), {}).status_code == 403


def test_a_refused_stop_is_not_recorded(client: Client, root: User, row: Any) -> None:
    type(row).objects.update(status="failed")
    client.post(url_of(row, "stop"), {"reason": "late"})
    client.force_login(User.objects.create_user("staff", is_staff=True))
    client.post(url_of(row, "stop"), {"reason": "mine"})
    assert not StaffAct.objects.exists()
    assert ToolJob.objects.count() + Invocation.objects.count() == 1
