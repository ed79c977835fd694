"""Invocations, jobs, scheduled tasks and artifacts in the audit admin, and their links to events."""

from __future__ import annotations

import hashlib
import re
import time
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from sessions_app.admin.artifact import MAX_MASKED_BYTES
from sessions_app.models import Artifact, Invocation, LegalHold, Session, StaffAccess, ToolJob
from tests.integration.admin.audit_rows import (
    HOSTILE,
    MODELS,
    append_event,
    create_one_of_each,
    make_artifact,
    make_job,
    make_scheduled_task,
    page_of,
    read,
    sign_in,
    text_of,
    tool_url,
)

pytestmark = pytest.mark.django_db


def test_the_page_lists_the_invocations_and_jobs_of_the_session(client: Client, session: Session) -> None:
    sign_in(client, "session", "invocation", "tooljob")
    append_event(
        session,
        {"functionCall": {"id": "c-1", "name": "report"}},
        usageMetadata={"promptTokenCount": 5, "candidatesTokenCount": 2},
    )
    invocation = Invocation.objects.create(
        session=session,
        invocation_id="e-1",
        client_id="m",
        message={},
        status="failed",
        error_message="Lost it.",
    )
    job = make_job(session, status="running", progress_done=2, progress_total=8, progress_message="Counting")
    html = read(client, page_of(session))
    table = text_of(html, 'id="invocations"', "</section>")
    for text in (
        reverse("admin:sessions_app_invocation_change", args=[invocation.pk]),
        "Lost it.",
        "failed",
        "5 &rarr; 2",
    ):
        assert text in table
    table = text_of(html, 'id="jobs"', "</section>")
    for text in (
        reverse("admin:sessions_app_tooljob_change", args=[job.pk]),
        'value="25"',
        "Counting",
        "running",
    ):
        assert text in table
    assert "/chat/" not in html


def test_jobs_whose_worker_died_are_marked_and_found_by_a_filter(client: Client, session: Session) -> None:
    sign_in(client, "tooljob")
    lost = make_job(session, call_id="c-1", lost_attempts=2, status="running")
    make_job(session, call_id="c-2")
    changelist = reverse("admin:sessions_app_tooljob_changelist")
    assert read(client, changelist).count('data-status="worker lost"') == 1
    found = read(client, changelist + "?worker_lost=yes")
    assert reverse("admin:sessions_app_tooljob_change", args=[lost.pk]) in found
    assert text_of(found, 'id="result_list"', "</table>").count("/change/") == 2  # the row and its session


def test_the_live_fields_of_a_job_are_those_of_its_page_without_words_of_the_conversation(
    client: Client, session: Session
) -> None:
    sign_in(client, "tooljob", rights=())
    values = {"status": "running", "progress_done": 1, "progress_total": 4, "progress_message": HOSTILE}
    job = make_job(session, args={"topic": "lamps"}, attempts=1, worker="w@1", **values)
    live = reverse("admin:sessions_app_tooljob_live", args=[job.pk])
    page = read(client, reverse("admin:sessions_app_tooljob_change", args=[job.pk]))
    first = read(client, live)
    assert f'data-live="{live}"' in page and "w@1" in first
    assert 'value="25"' in first and HOSTILE not in first and "lamps" not in first
    version = text_of(first, "data-version", ">")
    assert version in page
    ToolJob.objects.update(progress_done=2)
    assert version in read(client, live)
    ToolJob.objects.update(status="succeeded")
    assert version not in read(client, live)
    assert "data-live" not in read(client, reverse("admin:sessions_app_tooljob_change", args=[job.pk]))


def test_a_job_and_an_invocation_link_to_their_events(client: Client, session: Session) -> None:
    sign_in(client, "tooljob", "invocation", "artifact")
    append_event(session, {"text": "Hello"})
    append_event(session, {"functionCall": {"id": "c-1", "name": "report"}})
    values = {"status": "failed", "error": "Out of paper", "attempts": 3, "worker": "w@1"}
    saved = {"report.txt": 1, "user:me.txt": 0, "gone.txt": 0}
    job = make_job(session, **values, result={"pages": 3}, artifacts=saved)
    make_artifact(session, "report.txt")
    files = [make_artifact(session, "report.txt", version=1), make_artifact(session, "user:me.txt")]
    job_page = reverse("admin:sessions_app_tooljob_change", args=[job.pk])
    html = read(client, job_page)
    for text in (page_of(session, "?event=2#event-2"), "Out of paper", "w@1", "&quot;pages&quot;: 3"):
        assert text in html
    pages = [reverse("admin:sessions_app_artifact_change", args=[row.pk]) for row in files]
    assert re.findall(r'href="([^"]*)"', text_of(html, "field-files", "</div>")) == pages
    assert "gone.txt v0" in html
    assert f'href="{job_page}"' in text_of(read(client, pages[0]), "field-saved_by", "</div>")
    invocation = Invocation.objects.create(
        session=session, invocation_id="e-1", client_id="m", message={"parts": []}
    )
    html = read(client, reverse("admin:sessions_app_invocation_change", args=[invocation.pk]))
    assert page_of(session, "?invocation=e-1") in html


def test_the_artifacts_of_an_event_can_be_downloaded(client: Client, session: Session) -> None:
    sign_in(client, "session", "artifact")
    artifact = make_artifact(session, "page.html", b"<script>alert(1)</script>", version=1)
    user_artifact = make_artifact(session, "user:me.txt")
    append_event(session, actions={"artifactDelta": {"page.html": 1, "user:me.txt": 0, "gone.txt": 4}})
    html = text_of(read(client, page_of(session)), 'id="event-1"')
    for row in (artifact, user_artifact):
        assert reverse("admin:sessions_app_artifact_change", args=[row.pk]) in html
    assert "no longer stored" in html
    page = read(client, reverse("admin:sessions_app_artifact_change", args=[artifact.pk]))
    assert artifact.sha256 in page
    response = client.get(reverse("admin:sessions_app_artifact_download", args=[artifact.pk]))
    assert b"".join(response) == b"<script>alert(1)</script>"
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"] == 'attachment; filename="page.html"'
    assert response["X-Content-Type-Options"] == "nosniff"


def test_a_picture_is_shown_on_its_page(client: Client, session: Session) -> None:
    """Only a picture by its bytes that is the stored one; the page and the picture are recorded."""
    sign_in(client, "session", "artifact")
    png = b"\x89PNG\r\n\x1a\n" + bytes(100)
    artifact = make_artifact(session, 'chart"\u202e.png', png, mime_type="image/png")
    picture = reverse("admin:sessions_app_artifact_picture", args=[artifact.pk])
    page = reverse("admin:sessions_app_artifact_change", args=[artifact.pk])
    assert f'<img class="audit-picture" src="{picture}" alt="chart&quot;' in read(client, page)
    response = client.get(picture)
    assert (response.content, response["Content-Type"]) == (png, "image/png")
    assert response["X-Content-Type-Options"] == "nosniff"
    accesses = StaffAccess.objects.order_by("pk").values_list("kind", "subject_kind", "subject_id", "detail")
    shown = [("open", "artifact", str(artifact.pk), detail) for detail in ("", "picture")]
    assert list(accesses) == shown
    for name, content, mime_type in (
        ("drawing.svg", b"<svg onload='alert(1)'/>", "image/svg+xml"),
        ("drawing.png", b"<svg onload='alert(1)'/>", "image/png"),
        ("photo.jpg", png, "image/jpeg"),
        ("paper.pdf", b"%PDF-1.7", "application/pdf"),
        ("notes.txt", png, "text/plain"),
    ):
        other = make_artifact(session, name, content, mime_type=mime_type)
        url = reverse("admin:sessions_app_artifact_picture", args=[other.pk])
        assert client.get(url).status_code == 404, name
        other_page = read(client, reverse("admin:sessions_app_artifact_change", args=[other.pk]))
        assert "audit-picture" not in other_page, name
    Path(artifact.file.path).write_bytes(png + b"altered")
    altered = client.get(picture)
    assert (altered.status_code, altered.context["exception"]) == (
        404,
        f"The file of artifact {artifact.pk} is not the one that was stored.",
    )
    html = read(client, page)
    assert "This file is not the one that was stored" in html and "audit-picture" not in html
    artifact.file.delete(save=False)
    missing = client.get(picture)
    assert (missing.status_code, missing.context["exception"]) == (
        404,
        f"The file of artifact {artifact.pk} does not exist.",
    )
    assert list(accesses.filter(detail="picture")) == shown[1:]
    html = read(client, page)
    assert "does not have this file" in html and "audit-picture" not in html


def test_the_name_of_a_download_hides_no_ending(client: Client, session: Session) -> None:
    """Names such as "invoicefdp.exe" with a mark of direction before "fdp", which a browser would show reversed."""
    sign_in(client, "session", "artifact")
    for name in ("invoice\u202efdp.exe", "user:folder/invoice\u2067fdp.exe", "invoice\u061cfdp.exe"):
        artifact = make_artifact(session, name, b"MZ")
        response = client.get(reverse("admin:sessions_app_artifact_download", args=[artifact.pk]))
        assert b"".join(response) == b"MZ"
        assert response["Content-Disposition"] == 'attachment; filename="invoice_fdp.exe"', name


def test_a_download_is_masked_like_the_page_of_the_file(client: Client, session: Session) -> None:
    sign_in(client, "session", "artifact", rights=("view_text", "unmask_data"))
    said = b"my password is: correcthorse99\r\nThanks"
    download = reverse(
        "admin:sessions_app_artifact_download", args=[make_artifact(session, "notes.txt", said).pk]
    )
    response = client.get(download)
    assert b"".join(response) == b"my password is: [masked]\r\nThanks"
    assert response["Content-Disposition"] == 'attachment; filename="masked-notes.txt"'
    large = make_artifact(session, "large.txt", b"x")
    Artifact.objects.filter(pk=large.pk).update(size=MAX_MASKED_BYTES + 1)
    refused = reverse("admin:sessions_app_artifact_download", args=[large.pk])
    assert client.get(refused).status_code == 403
    client.post(tool_url(session, "unmask"), {"reason": "An order."})
    assert b"".join(client.get(download)) == said
    assert b"".join(client.get(refused)) == b"x"


def test_a_file_that_was_changed_in_the_storage_is_marked(client: Client, session: Session) -> None:
    sign_in(client, "session", "artifact")
    artifact = make_artifact(session, "invoice.txt", b"10 euros")
    page, download, badge = (
        reverse("admin:sessions_app_artifact_change", args=[artifact.pk]),
        reverse("admin:sessions_app_artifact_download", args=[artifact.pk]),
        reverse("admin:sessions_app_session_integrity", args=[session.pk]),
    )
    assert "audit-bad" not in read(client, page) and "audit-good" in read(client, badge)
    Path(artifact.file.path).write_bytes(b"99 euros")
    assert hashlib.sha256(b"99 euros").hexdigest() in read(client, page)
    response = client.get(download)
    assert b"".join(response) == b"99 euros"
    assert response["Content-Disposition"] == 'attachment; filename="altered-invoice.txt"'
    shown = read(client, badge)
    assert page in shown and "The file invoice.txt is not as it was stored" in shown
    Path(artifact.file.path).unlink()
    assert "audit-good" not in read(client, badge)


def test_15_the_page_of_a_file_shows_its_text_and_what_changed_since_the_version_before(
    client: Client, session: Session
) -> None:
    sign_in(client, "artifact")
    texts = ("Lamp: 49 €\nDesk: 99 €\n", f"Lamp: 59 €\nDesk: 99 €\n{HOSTILE}\npassword=hunter2\n\u202e")
    other = make_artifact(session, "user:prices.html", b"Lamp: 1", version=1)
    first, _gap, third = (
        make_artifact(session, name, text.encode(), version=version)
        for name, text, version in (
            ("prices.html", texts[0], 0), ("other.html", "Lamp: 2", 1), ("prices.html", texts[1], 2),
        )
    )  # fmt: skip
    html = read(client, reverse("admin:sessions_app_artifact_change", args=[third.pk]))
    assert "<del>- Lamp: 49 €</del>" in html and "<ins>+ Lamp: 59 €</ins>" in html
    assert "<span>  Desk: 99 €</span>" in html
    assert HOSTILE not in html and "hunter2" not in html and "\u202e" not in html and "&lt;script&gt;" in html
    for row in (first, other):
        html = read(client, reverse("admin:sessions_app_artifact_change", args=[row.pk]))
        assert "Lamp: " in html and "<del>" not in html
    Artifact.objects.filter(pk=third.pk).update(mime_type="application/pdf")
    assert "No text" in read(client, reverse("admin:sessions_app_artifact_change", args=[third.pk]))
    third.file.delete(save=False)
    html = read(client, reverse("admin:sessions_app_artifact_change", args=[third.pk]))
    assert "does not have this file" in html and "No text" not in html


def test_a_field_without_a_value_is_left_out_and_a_row_that_cannot_change_has_no_history(
    client: Client, session: Session
) -> None:
    client.force_login(User.objects.create_superuser("root"))
    rows = create_one_of_each(session, session.user)
    for name in ("tooljob", "invocation", "artifact", "scheduledtask", "feedback"):
        html = read(client, reverse(f"admin:sessions_app_{name}_change", args=[rows[name].pk]))
        dashes = re.findall(
            r'class="form-row field-(\w+)">(?:(?!form-row).)*?class="readonly">\s*-\s*<', html, re.DOTALL
        )
        assert not {field.name for field in rows[name]._meta.fields} & set(dashes), name
        assert not re.search(r'class="readonly">\s*(None|<(?!span|pre|a\b))', html), name
        created = text_of(html, "field-created_at", "</div>")
        assert re.search(r">2\d\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC$", created), name
        assert "/history/" not in html, name
    hold = LegalHold.objects.create(session=session, reason="A court asked.")
    assert "/history/" in read(client, reverse("admin:sessions_app_legalhold_change", args=[hold.pk]))


def test_a_page_of_a_large_file_is_small(client: Client, session: Session) -> None:
    sign_in(client, "artifact")
    versions = [make_artifact(session, "log.html", b"line\n" * 1_000_000, version=n) for n in (0, 1)]
    started = time.process_time()
    html = read(client, reverse("admin:sessions_app_artifact_change", args=[versions[1].pk]))
    assert len(html) < 100_000 and time.process_time() - started < 2


def test_a_download_needs_the_permission_to_view_artifacts(auditor: Client, session: Session) -> None:
    artifact = make_artifact(session, "notes.txt")
    assert auditor.get(reverse("admin:sessions_app_artifact_download", args=[artifact.pk])).status_code == 403


def test_an_artifact_whose_file_is_missing_is_not_found(client: Client, session: Session) -> None:
    sign_in(client, "artifact")
    artifact = make_artifact(session, "notes.txt")
    artifact.file.delete(save=False)
    assert client.get(reverse("admin:sessions_app_artifact_download", args=[artifact.pk])).status_code == 404


def test_a_hostile_file_name_cannot_end_a_header(client: Client, session: Session) -> None:
    sign_in(client, "artifact")
    artifact = make_artifact(session, 'a/b"\r\nSet-Cookie: x=1.txt')
    response = client.get(reverse("admin:sessions_app_artifact_download", args=[artifact.pk]))
    response.close()
    assert response["Content-Disposition"] == 'attachment; filename="b\\"__Set-Cookie: x=1.txt"'


def test_scheduled_tasks_are_shown_on_the_page_of_their_session_and_on_their_own(
    client: Client, session: Session, person: User
) -> None:
    append_event(session, {"functionCall": {"id": "c-1", "name": "schedule_task", "args": {}}})
    active = make_scheduled_task(session)
    run = {"invocation_id": "e-7", "client_id": f"schedule:{active.pk}:1", "message": {}}
    Invocation.objects.create(session=session, **run)
    by = {"cancelled_by": person, "cancelled_by_name": "ada"}
    cancelled = {"cancelled_at": active.start_at, "next_at": None, **by}
    make_scheduled_task(session, call_id="c-2", task=HOSTILE, **cancelled)
    sign_in(client, *MODELS)
    page = read(client, page_of(session))
    table = text_of(page, 'id="scheduled-tasks"', "</section>")
    task_page = reverse("admin:sessions_app_scheduledtask_change", args=[active.pk])
    assert f'href="{task_page}"' in table and "2026-11-23 09:00:00" in table
    assert "every weekday at 09:00 (Europe/Berlin)" in table and "by<bdi>ada</bdi>" in table
    assert HOSTILE not in page and 'href="#scheduled-tasks">2 scheduled tasks<' in page
    assert page_of(session, "?event=1#event-1") in read(client, task_page)
    assert page_of(session, "?invocation=e-7") in read(client, task_page)


def test_the_state_of_a_user_leads_to_the_sessions_of_the_user_in_the_app(
    client: Client, session: Session, person: User
) -> None:
    sign_in(client, "userstate")
    other = Session.objects.create(app_name="other", user=person, key="elsewhere")
    state = create_one_of_each(session, person)["userstate"]
    page = reverse("admin:sessions_app_userstate_change", args=[state.pk])
    assert "app_name=help_desk" not in read(client, page)
    may_view = Permission.objects.get(codename="view_session", content_type__app_label="sessions_app")
    User.objects.get(username="staff").user_permissions.add(may_view)
    (url,) = re.findall(r'href="([^"]*app_name=help_desk[^"]*)"', read(client, page))
    listed = read(client, unescape(url))
    assert page_of(session) in listed and page_of(other) not in listed
