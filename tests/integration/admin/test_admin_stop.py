"""Stop action of the admin: its permission, its record in the row, and its safety against forged requests."""

from __future__ import annotations

from typing import Any

import pytest
from celery import current_app
from django.contrib.auth.models import Permission, User
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from sessions_app.jobs import response as job_response
from sessions_app.models import Invocation, Session, ToolJob
from tests.integration.admin.audit_rows import told

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<script>alert(1)</script>\"'>"


@pytest.fixture
def invocation(session: Session, background_end: None) -> Invocation:
    return Invocation.objects.create(session=session, invocation_id="e-1", client_id="m-1", message={})


@pytest.fixture
def job(session: Session, monkeypatch: pytest.MonkeyPatch, background_end: None) -> ToolJob:
    monkeypatch.setattr(job_response, "offer_session", lambda session_id: None)
    names = {"call_id": "c-1", "tool_name": "report", "task_name": "t", "agent_name": "a"}
    return ToolJob.objects.create(session=session, invocation_id="e-1", **names)


@pytest.fixture(params=["invocation", "job"])
def row(request: pytest.FixtureRequest) -> Any:
    """A row that can be stopped: an invocation, then a job."""
    return request.getfixturevalue(request.param)


def stop_url(row: Model) -> str:
    return reverse(f"admin:sessions_app_{row._meta.model_name}_stop", args=[row.pk])


def sign_in(client: Client, *permissions: str, is_superuser: bool = False) -> User:
    staff = User.objects.create_user("staff", is_staff=True, is_superuser=is_superuser)
    staff.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client.force_login(staff)
    return staff


def test_a_stop_records_user_time_and_reason_and_returns_to_the_page_with_the_link(
    client: Client, row: Any
) -> None:
    model = row._meta.model_name
    staff = sign_in(client, f"cancel_{model}", f"view_{model}", "view_session", "view_text")
    session_page = reverse("admin:sessions_app_session_change", args=[row.session_id])
    page = client.get(session_page).content.decode()
    assert f'href="{stop_url(row)}?next={session_page}"' in page
    assert client.get(stop_url(row), {"next": session_page}).status_code == 200
    response = client.post(stop_url(row), {"reason": HOSTILE, "next": session_page}, follow=True)
    assert response.redirect_chain == [(session_page, 302)]
    assert "is being stopped" in told(response)
    row.refresh_from_db()
    assert (row.status, row.cancelled_by, row.cancel_reason) == ("cancelled", staff, HOSTILE)
    assert row.cancel_requested_at is not None and row.finished_at is not None
    own_page = reverse(f"admin:sessions_app_{model}_change", args=[row.pk])
    for html in (response.content.decode(), client.get(own_page).content.decode()):
        assert "staff" in html and "alert(1)" in html
        assert "<script>alert" not in html
        assert stop_url(row) not in html


def test_the_page_of_a_row_offers_to_stop_it(client: Client, row: Any) -> None:
    model = row._meta.model_name
    sign_in(client, f"cancel_{model}", f"view_{model}")
    page = reverse(f"admin:sessions_app_{model}_change", args=[row.pk])
    assert f'href="{stop_url(row)}"' in client.get(page).content.decode()
    response = client.post(stop_url(row), follow=True)
    assert response.redirect_chain == [(page, 302)]
    row.refresh_from_db()
    assert row.status == "cancelled"


def test_the_list_offers_to_stop_open_rows_to_those_who_may(client: Client, row: Any) -> None:
    model = row._meta.model_name
    user = sign_in(client, f"view_{model}", "view_text")
    page = reverse(f"admin:sessions_app_{model}_changelist")
    assert stop_url(row) not in client.get(page).content.decode()
    user.user_permissions.add(Permission.objects.get(codename=f"cancel_{model}"))
    assert stop_url(row) in client.get(page).content.decode()
    type(row).objects.update(status="cancelled")
    assert stop_url(row) not in client.get(page).content.decode()


def test_a_superuser_may_stop_a_row(client: Client, row: Any) -> None:
    sign_in(client, is_superuser=True)
    client.post(stop_url(row))
    row.refresh_from_db()
    assert row.status == "cancelled"


@pytest.mark.parametrize("permissions", [["view", "change"], ["cancel"], []])
def test_a_stop_needs_the_permission_to_stop_and_the_permission_to_view(
    client: Client, row: Any, permissions: list[str]
) -> None:
    model = row._meta.model_name
    sign_in(client, *[f"{permission}_{model}" for permission in permissions])
    assert client.get(stop_url(row)).status_code == 403
    assert client.post(stop_url(row)).status_code == 403
    page = client.get(reverse(f"admin:sessions_app_{model}_change", args=[row.pk])).content.decode()
    assert stop_url(row) not in page
    row.refresh_from_db()
    assert (row.status or "queued", row.cancel_requested_at) == ("queued", None)


def test_a_forged_post_stops_nothing(row: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    sign_in(client, is_superuser=True)
    assert client.post(stop_url(row)).status_code == 403
    row.refresh_from_db()
    assert row.cancel_requested_at is None


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_a_stop_never_redirects_to_another_site(client: Client, row: Any, elsewhere: str) -> None:
    sign_in(client, is_superuser=True)
    assert elsewhere not in client.get(stop_url(row), {"next": elsewhere}).content.decode()
    assert client.post(stop_url(row), {"next": elsewhere})["Location"].startswith("/admin/")


def test_a_row_that_does_not_exist_is_not_found(client: Client, row: Any) -> None:
    sign_in(client, is_superuser=True)
    url = stop_url(row)
    type(row).objects.all().delete()
    assert client.post(url).status_code == 404
    name = f"admin:sessions_app_{row._meta.model_name}_stop"
    assert client.get(reverse(name, args=["nonsense"])).status_code == 404


def test_a_row_that_has_ended_is_unchanged(client: Client, row: Any) -> None:
    type(row).objects.update(status="failed")
    sign_in(client, is_superuser=True)
    response = client.post(stop_url(row), follow=True)
    assert "nothing to stop" in told(response) and "failed" in told(response)
    row.refresh_from_db()
    assert (row.status, row.cancelled_by) == ("failed", None)


def test_a_reason_that_is_too_long_is_refused_with_a_message(client: Client, row: Any) -> None:
    sign_in(client, is_superuser=True)
    response = client.post(stop_url(row), {"reason": "x" * 501})
    assert "at most 500 characters" in response.content.decode()
    row.refresh_from_db()
    assert row.cancel_requested_at is None


def test_the_chat_says_that_staff_stopped_the_invocation_but_not_who_or_why(
    client: Client, person: User, invocation: Invocation
) -> None:
    sign_in(client, is_superuser=True)
    client.post(stop_url(invocation), {"reason": "For a good reason"})
    client.force_login(person)
    html = client.get(reverse("chat:session", args=[invocation.session_id])).content.decode()
    assert '"error": "Stopped by staff"' in html
    assert "good reason" not in html


def test_a_running_job_is_signalled(client: Client, job: ToolJob, monkeypatch: pytest.MonkeyPatch) -> None:
    revoked: list[str] = []
    monkeypatch.setattr(current_app.control, "revoke", lambda job_id, **how: revoked.append(job_id))
    ToolJob.objects.update(status="running")
    sign_in(client, is_superuser=True)
    client.post(stop_url(job))
    assert revoked == [str(job.pk)]
    job.refresh_from_db()
    assert job.status == "running" and job.cancel_requested_at is not None
