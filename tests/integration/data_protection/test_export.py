"""Export: everything of a person or a session is in the archive, with checksums and without secrets."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import Any
from uuid import UUID
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection

from runtime.sessions.session import Session as AdkSession
from sessions_app.data_protection.export import FIELDS, export_session, export_user
from sessions_app.data_protection.personal_data import ROWS_OF_SESSION
from sessions_app.models import (
    AnswerRequest,
    ApiKey,
    Artifact,
    EventWords,
    Failure,
    IdempotentRequest,
    LegalHold,
    Pack,
    RememberedSession,
    SavedCredential,
    Session,
    SessionFigures,
    SessionText,
    Webhook,
)
from tests.integration.admin.audit_rows import append_event
from tests.integration.data_protection.people import person_with_rows
from tests.integration.session_helpers import request_text

pytestmark = pytest.mark.usefixtures("transactional_db", "loop_end")


@pytest.fixture
async def ada(transactional_db: None) -> User:
    return await person_with_rows("ada-lovelace", 900_041)


@pytest.fixture
def session(person: User) -> Session:
    return Session.objects.create(app_name="shop", user=person, key="s-1")


def read(directory: Path, name: str) -> Any:
    return json.loads((directory / name).read_text())


def test_an_exported_session_is_a_session_of_the_adk_api(ada: User, tmp_path: Path) -> None:
    row = Session.objects.order_by("created_at")[0]
    export_session(row.pk, tmp_path / "out")
    exported = read(tmp_path / "out", f"sessions/{row.pk}.json")
    assert (exported["id"], exported["appName"], exported["userId"]) == (row.key, "shop", "900041")
    assert exported["state"]["last"] == "ada-lovelace 0"
    assert exported["state"]["user:likes"] == "ada-lovelace 1"
    loaded = AdkSession.model_validate(exported)
    assert [(event.author, event.text()) for event in loaded.events] == [
        ("user", "ada-lovelace 0"),
        ("clerk", "ada-lovelace 0"),
    ]


def test_the_manifest_has_the_checksum_of_every_file(ada: User, tmp_path: Path) -> None:
    target = tmp_path / "ada.zip"
    call_command("adk_export", "--user", "ada-lovelace", str(target))
    with ZipFile(target) as archive:
        manifest = json.loads(archive.read("manifest.json"))["files"]
        assert {file["name"] for file in manifest} == set(archive.namelist()) - {"manifest.json"}
        for file in manifest:
            data = archive.read(file["name"])
            assert (len(data), hashlib.sha256(data).hexdigest()) == (file["size"], file["sha256"])
        artifacts = json.loads(archive.read("artifacts.json"))
        contents = {artifact["filename"]: archive.read(artifact["path"]) for artifact in artifacts}
        lengths = {name: len(json.loads(archive.read(f"{name}.json"))) for name in ROWS}
    assert contents["ada-lovelace 0.txt"] == b"ada-lovelace 0"
    assert len(contents) == 4
    assert lengths == ROWS
    assert target.stat().st_mode & 0o777 == 0o600


ROWS = {
    "invocations": 2,
    "jobs": 2,
    "scheduled_tasks": 2,
    "memory_entries": 4,
    "feedback": 2,
    "user_states": 1,
    "credentials": 1,
    "memory_pauses": 1,
}


def test_a_saved_credential_is_listed_and_not_exported(ada: User, tmp_path: Path) -> None:
    export_user(ada.pk, tmp_path / "out")
    [listed] = read(tmp_path / "out", "credentials.json")
    assert listed.keys() == {"app_name", "saved_at", "service"}
    texts = [path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    row = SavedCredential.objects.get()
    assert not [text for text in texts if "key of ada" in text or row.encrypted in text or row.key in text]


def test_rows_and_files_of_others_are_not_exported(ada: User, person: User, tmp_path: Path) -> None:
    export_user(person.pk, tmp_path / "out")
    texts = [path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not [text for text in texts if "lovelace" in text]


def test_secrets_are_redacted(session: Session, tmp_path: Path) -> None:
    response = {"id": "c-1", "name": "adk_request_credential", "response": {"code": "hunter2"}}
    append_event(session, {"functionResponse": response})
    call = {
        "id": "c-2",
        "name": "log_in",
        "args": {"password": "hunter2", "apiKey": "hunter2", "shop": "Lamps"},
    }
    append_event(
        session, {"functionCall": call}, actions={"stateDelta": {"access_token": "hunter2", "steps": 3}},
        usageMetadata={"promptTokenCount": 7},
    )  # fmt: skip
    append_event(session, {"text": "My password: hunter2, my card: 4111 1111 1111 1111, my order: 1001"})
    export_session(session.pk, tmp_path / "out")
    text = (tmp_path / "out" / f"sessions/{session.pk}.json").read_text()
    assert "hunter2" not in text and "1111 1111" not in text
    assert "my card: [masked], my order: 1001" in text
    assert '"shop": "Lamps"' in text
    assert '"promptTokenCount": 7' in text
    assert json.loads(text)["state"] == {"access_token": "[masked]", "steps": 3}


def test_secrets_in_names_and_addresses_are_redacted(person: User, session: Session, tmp_path: Path) -> None:
    secret = "api_key=hunter2"
    append_event(
        session, {"functionResponse": {"name": "pay", "response": {"4111 1111 1111 1111": "declined"}}}
    )
    names = {"app_name": session.app_name, "user": person, "session": session, "file": "gone"}
    Artifact.objects.create(**names, filename=f"{secret}.txt", version=0, size=1, sha256="0" * 64)
    Webhook.objects.create(user=person, url=f"https://example.org/hook?{secret}", secret="", events=[])
    ApiKey.objects.make(user=person, name=secret, scopes=["read"])
    export_user(person.pk, tmp_path / "out")
    texts = [path.read_text() for path in (tmp_path / "out").rglob("*.json")]
    assert not [text for text in texts if "hunter2" in text or "1111 1111" in text]
    assert any("api_key=[masked]" in text for text in texts)


def test_a_missing_file_does_not_stop_the_export(ada: User, tmp_path: Path) -> None:
    lost = Artifact.objects.filter(filename="ada-lovelace 0.txt").get()
    lost.file.delete(save=False)
    export_user(ada.pk, tmp_path / "out")
    paths = {artifact["filename"]: artifact["path"] for artifact in read(tmp_path / "out", "artifacts.json")}
    assert paths["ada-lovelace 0.txt"] == ""
    assert paths["ada-lovelace 1.txt"]


def test_an_export_overwrites_nothing(session: Session, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="exists already"):
        call_command("adk_export", "--session", str(session.pk), str(tmp_path))


def test_the_records_of_model_requests_and_their_texts_are_exported(session: Session, tmp_path: Path) -> None:
    event = append_event(session, {"text": "Hello"})
    name = request_text({"apiKey": "s3cret", "text": "Be kind."})
    request_text("Of another session.")
    event.model_call = {"system": name, "seq": 0}
    event.pk = None
    event.seq, session.last_seq = 2, 2
    event.save()
    session.save()
    SessionText.objects.create(session=session, text_id=UUID(name))
    export_session(session.pk, tmp_path / "out")
    assert read(tmp_path / "out", "model_calls.json") == [
        {"session_id": str(session.pk), "seq": 2, "model_call": event.model_call}
    ]
    (text,) = read(tmp_path / "out", "request_texts.json")
    assert text["id"] == name
    assert text["value"] == {"apiKey": "[masked]", "text": "Be kind."}


def test_the_memory_of_an_export_does_not_grow_with_the_session(session: Session, tmp_path: Path) -> None:
    peaks = []
    for events in (2_000, 6_000):
        fill(session, events)
        tracemalloc.start()
        export_session(session.pk, tmp_path / f"{events}.zip")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.5


def fill(session: Session, last_seq: int) -> None:
    """Add events up to a number to the log."""
    query = """
        INSERT INTO sessions_app_event (session_id, seq, body)
        SELECT %(session)s, seq, jsonb_build_object('author', 'clerk', 'timestamp', 1, 'id', seq::text)
        FROM generate_series(%(first)s, %(last)s) AS seq"""
    names: dict[str, Any] = {"session": session.pk, "first": session.last_seq + 1, "last": last_seq}
    with connection.cursor() as cursor:
        cursor.execute(query, names)
    session.last_seq = last_seq
    session.save()


def test_every_table_of_a_session_is_counted_and_exported_or_left_out_on_purpose() -> None:
    of_session = {
        relation.related_model
        for relation in Session._meta.get_fields(include_hidden=True)
        if relation.auto_created and relation.related_model
    }
    exported_with_events = {SessionText, Pack}
    kept_for_a_day = {IdempotentRequest}
    exported_with_person = {Webhook}
    counts_only = {RememberedSession}
    left_out = exported_with_events | exported_with_person | kept_for_a_day | counts_only
    derived = {AnswerRequest, EventWords, SessionFigures, Failure} | left_out
    assert of_session == {*ROWS_OF_SESSION.values(), LegalHold} | derived
    written_otherwise = {"events", "artifacts"}
    kept_for_staff = {"call_errors", "evaluated_cases"}
    assert set(FIELDS) == set(ROWS_OF_SESSION) - written_otherwise - kept_for_staff
