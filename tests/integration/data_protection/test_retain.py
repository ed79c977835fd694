"""Retention and housekeeping: what is old goes, what is new, in use or held stays."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as Login
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.utils import timezone

from sessions_app.data_protection.erase import erase_session
from sessions_app.models import (
    Artifact,
    CaseEntry,
    CaseFile,
    Invocation,
    LegalHold,
    RequestText,
    Session,
    SessionText,
    Tombstone,
)
from sessions_app.store import erasing
from sessions_app.tasks import run_housekeeping
from tests.integration.admin.audit_rows import append_event, make_artifact, make_job, make_scheduled_task
from tests.integration.session_helpers import request_text

pytestmark = pytest.mark.usefixtures("transactional_db", "background_end")


@pytest.fixture
def old(person: User) -> Callable[..., Session]:
    """Return a function that creates a session with an event that was last used some days ago."""

    def create(key: str, days: int = 40, app_name: str = "shop") -> Session:
        session = Session.objects.create(app_name=app_name, user=person, key=key)
        append_event(session, {"text": "Hello"})
        Session.objects.filter(pk=session.pk).update(updated_at=timezone.now() - timedelta(days=days))
        return session

    return create


def kept() -> set[str]:
    return set(Session.objects.values_list("key", flat=True))


def test_sessions_older_than_the_retention_of_their_app_are_erased(
    old: Callable[..., Session], configure: Callable[..., None]
) -> None:
    configure(retention_days=30, apps={"archive": {"retention_days": 0}, "kiosk": {"retention_days": 1}})
    old("old")
    old("new", days=20)
    old("archived", days=900, app_name="archive")
    old("kiosk", days=2, app_name="kiosk")
    run_housekeeping()
    assert kept() == {"new", "archived"}
    reasons = set(Tombstone.objects.values_list("reason", flat=True))
    assert reasons == {"Not used for 30 days.", "Not used for 1 day."}


def test_sessions_are_kept_without_a_setting(old: Callable[..., Session]) -> None:
    old("ancient", days=5_000)
    run_housekeeping()
    assert kept() == {"ancient"}


@pytest.mark.parametrize(
    ("fields", "days", "is_kept"),
    [
        ({}, 8, False),
        ({}, 6, True),
        ({"title": "Orders"}, 8, True),
        ({"key": "of-a-shop"}, 8, True),
        ({"initial_state": {"cart": 1}}, 8, True),
    ],
    ids=["old", "young", "titled", "key of its own", "state"],
)
def test_a_session_that_only_an_upload_created_goes_with_its_file_after_a_week(
    person: User, settings: Any, fields: dict[str, Any], days: int, is_kept: bool
) -> None:
    pk = uuid4()
    session = Session.objects.create(
        **{"pk": pk, "app_name": "shop", "user": person, "key": str(pk), **fields}
    )
    path = Path(make_artifact(session, "unsent.txt").file.path)
    Session.objects.update(updated_at=timezone.now() - timedelta(days=days))
    run_housekeeping()
    assert (Session.objects.exists(), path.exists()) == (is_kept, is_kept)


def test_a_session_whose_first_message_waits_is_kept(person: User) -> None:
    pk = uuid4()
    session = Session.objects.create(pk=pk, app_name="shop", user=person, key=str(pk))
    Invocation.objects.create(
        session=session, invocation_id="e-1", client_id="m", message={}, status="failed"
    )
    Session.objects.update(updated_at=timezone.now() - timedelta(days=8))
    run_housekeeping()
    assert kept() == {str(pk)}


def test_sessions_in_use_or_under_legal_hold_are_kept(
    old: Callable[..., Session], configure: Callable[..., None]
) -> None:
    configure(retention_days=30)
    old("unused")
    held, queued, at_work, planned = (old(key) for key in ("held", "queued", "at work", "planned"))
    LegalHold.objects.create(session=held, reason="A court asked.")
    Invocation.objects.create(session=queued, invocation_id="e-1", client_id="m-1", message={})
    make_job(at_work, status="running")
    make_scheduled_task(planned)
    run_housekeeping()
    assert kept() == {"held", "queued", "at work", "planned"}


def test_a_run_erases_a_bounded_number_the_longest_unused_first(
    old: Callable[..., Session], configure: Callable[..., None]
) -> None:
    configure(retention_days=30, retention_batch=2)
    for days in (40, 60, 50):
        old(f"{days} days", days=days)
    run_housekeeping()
    assert kept() == {"40 days"}
    run_housekeeping()
    assert kept() == set()


def test_the_dry_run_counts_and_erases_nothing(
    old: Callable[..., Session], configure: Callable[..., None]
) -> None:
    configure(retention_days=30)
    old("old")
    out = StringIO()
    call_command("adk_retain", "--dry-run", stdout=out)
    assert "1 session not used for 30 days would be erased." in out.getvalue()
    assert kept() == {"old"}
    call_command("adk_retain", stdout=out)
    assert "1 session erased." in out.getvalue()


def test_files_without_a_row_go_after_a_day(old: Callable[..., Session], settings: Any) -> None:
    artifact = make_artifact(old("files"), "kept.txt")
    seal = CaseEntry(case=CaseFile.objects.create(title="Lamp"), kind="seal")
    seal.bundle.save("case.zip", ContentFile(b""))
    yesterday = (timezone.now() - timedelta(days=1, minutes=1)).timestamp()
    stored = [Path(artifact.file.path), Path(seal.bundle.path)]
    for file in stored:
        for name, is_old in (("orphan", True), ("being saved", False), (file.name, True)):
            (file.parent / name).touch()
            if is_old:
                os.utime(file.parent / name, (yesterday, yesterday))
    run_housekeeping()
    for file in stored:
        assert {path.name for path in file.parent.iterdir()} == {"being saved", file.name}
    assert Artifact.objects.count() == 1


def test_expired_logins_go() -> None:
    for key, days in (("over", -1), ("valid", 1)):
        end = timezone.now() + timedelta(days=days)
        Login.objects.create(session_key=key, session_data="", expire_date=end)
    run_housekeeping()
    assert [login.session_key for login in Login.objects.all()] == ["valid"]


def test_a_session_that_is_used_while_others_are_erased_is_kept(
    old: Callable[..., Session], configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(retention_days=30)
    old("first", days=50)
    used = old("used", days=40)
    unsent = Session.objects.create(app_name="shop", user=used.user)
    long_ago = timezone.now() - timedelta(days=20)
    Session.objects.filter(pk=unsent.pk).update(key=str(unsent.pk), updated_at=long_ago)

    def use_another(session_pk: Any, *arguments: Any, **options: Any) -> Tombstone:
        Session.objects.filter(pk=used.pk).update(updated_at=timezone.now())
        return erase_session(session_pk, *arguments, **options)

    monkeypatch.setattr("sessions_app.data_protection.retain.erase_session", use_another)
    run_housekeeping()
    assert kept() == {"used"}


def test_texts_of_model_requests_that_no_session_needs_are_deleted(
    old: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "TEXTS_PER_TRANSACTION", 2)
    session = old("new", days=1)
    texts = [UUID(request_text(f"Be kind {number} times.")) for number in range(7)]
    SessionText.objects.create(session=session, text_id=texts[3])
    run_housekeeping()
    run_housekeeping()
    assert RequestText.objects.get().pk == texts[3]
