"""Contract: signed roots outside of the database show what its owner has rewritten, with all hashes behind it."""

from __future__ import annotations

import hashlib
import json
import logging
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.transaction import TransactionManagementError

from sessions_app.base.actors import SITE, Act, ActionKind
from sessions_app.data_protection.erase import ErasureOrder, erase_session, erase_user
from sessions_app.data_protection.packing import pack_session
from sessions_app.history.evidence import proofs as proofs_module
from sessions_app.history.evidence import root_file
from sessions_app.history.evidence import sealing as sealing_module
from sessions_app.history.evidence.hash_tree import tree_above
from sessions_app.history.evidence.integrity import flaw_in
from sessions_app.history.figures.batches import count_figures
from sessions_app.models import (
    ActRequest,
    ActRequestStep,
    CaseEntry,
    CaseFile,
    CaseItem,
    Event,
    Invocation,
    RecordedEnd,
    Session,
    SessionAct,
    StaffAccess,
    StaffAct,
)
from sessions_app.store.packs import open_pack
from tests.integration.tampering import tamper

REHASH = """
DO $$
DECLARE
    e record;
    previous bytea;
BEGIN
    FOR e IN SELECT * FROM sessions_app_event WHERE session_id = '{session}' ORDER BY seq LOOP
        previous := adk_event_link(coalesce(previous, adk_first_link(e.session_id, NULL)), e.seq, e.body, e.before,
            adk_facts(e.session_id, e.body));
        UPDATE sessions_app_event SET hash = previous WHERE id = e.id;
    END LOOP;
END $$"""
"""Computes all hashes of a log anew, as its owner can."""


@pytest.fixture
def key(tmp_path: Path) -> Ed25519PrivateKey:
    made = Ed25519PrivateKey.generate()
    pem = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "root.key").write_bytes(pem)
    public = made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "root.pub").write_bytes(public)
    return made


@pytest.fixture
def sealing(
    tmp_path: Path, key: Ed25519PrivateKey, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.setattr(sealing_module, "SETTLE_SECONDS", 0.0)
    return tmp_path / "roots"


def seal(place: Path) -> str:
    out = StringIO()
    call_command("adk_seal", to=str(place), key=place.parent / "root.key", stdout=out)
    return out.getvalue()


def verify(place: Path) -> str:
    """Return what the command writes, and its error."""
    out = StringIO()
    try:
        key = place.parent / "root.pub" if place.is_dir() else place.parent.parent / "root.pub"
        call_command("adk_verify", against=str(place), public_key=key, stdout=out)
    except CommandError as error:
        return f"{out.getvalue()}{error}"
    return out.getvalue()


def talk(person: User, key: str, count: int) -> Session:
    session, _ = Session.objects.get_or_create(app_name="shop", user=person, key=key)
    for seq in range(session.last_seq + 1, session.last_seq + 1 + count):
        Event.objects.create(session=session, seq=seq, body={"author": "clerk", "n": seq})
    Session.objects.filter(pk=session.pk).update(last_seq=session.last_seq + count)
    return session


def rewrite(session: Session, seq: int) -> None:
    """Change an event and all hashes behind it, so the chain is whole again."""

    def change() -> None:
        Event.objects.filter(session=session, seq=seq).update(body={"author": "clerk", "n": "forged"})
        with connection.cursor() as cursor:
            cursor.execute(REHASH.format(session=session.pk))

    tamper(change)
    assert flaw_in(session.pk) is None


OPENINGS = {
    "owner": (
        """
        CREATE ROLE keeper;
        GRANT ALL ON ALL TABLES IN SCHEMA public TO keeper;
        ALTER TABLE sessions_app_event OWNER TO keeper;
        ALTER TABLE sessions_app_staffact OWNER TO keeper;
        SET LOCAL ROLE keeper;
        ALTER TABLE sessions_app_event DISABLE TRIGGER USER;
        ALTER TABLE sessions_app_staffact DISABLE TRIGGER USER""",
        """
        SET CONSTRAINTS ALL IMMEDIATE;
        ALTER TABLE sessions_app_event ENABLE TRIGGER USER;
        ALTER TABLE sessions_app_staffact ENABLE TRIGGER USER;
        RESET ROLE""",
    ),
    "superuser": (
        "SET LOCAL session_replication_role = replica",
        "SET LOCAL session_replication_role = origin",
    ),
}
"""How the owner of the tables, who is no superuser, and a superuser get past the triggers, and leave no trace of it."""
FORGED_EVENT = 'UPDATE sessions_app_event SET body = \'{"author": "mallory"}\' WHERE seq = '


@pytest.mark.parametrize("role", OPENINGS)
def test_forgeries_of_the_owner_and_of_a_superuser_stay_unnoticed_only_until_the_next_root(
    sealing: Path, person: User, role: str
) -> None:
    session = talk(person, "s-1", 3)
    act = StaffAct.objects.create(action="stop", actor_name="grace", reason="It hung.")
    seal(sealing)
    talk(person, "s-1", 1)
    opening, closing = OPENINGS[role]
    rehash = REHASH.format(session=session.pk)
    tries = {
        "an event": f"{FORGED_EVENT} 2",
        "an event with all hashes": f"{FORGED_EVENT} 2; {rehash}",
        "an event since the last root, with all hashes": f"{FORGED_EVENT} 4; {rehash}",
        "an act": "UPDATE sessions_app_staffact SET actor_name = 'ada'",
    }
    found = {}
    for name, forgery in tries.items():
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"{opening}; {forgery}; {closing}")
            lines = verify(sealing).splitlines()
            named = [line for line in lines if "altered" in line or "as this version" in line]
            found[name] = [line.split(" of ")[0] for line in named]
            transaction.set_rollback(True)
    assert found == {
        "an event": [f"session {session.pk}, event 2: altered"],
        "an event with all hashes": [f"event {session.pk} 2: altered, by root 1"],
        "an event since the last root, with all hashes": [],
        "an act": [f"staffact {act.pk}: altered, by root 1"],
    }


def test_triggers_that_are_left_disabled_are_named(sealing: Path, person: User) -> None:
    talk(person, "s-1", 1)
    seal(sealing)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE sessions_app_event DISABLE TRIGGER USER")
        found = verify(sealing)
        transaction.set_rollback(True)
    for name in ("chain_event", "event_append_only"):
        assert f"trigger {name} of sessions_app_event: not as this version defines it" in found


def test_the_first_event_that_was_rewritten_with_its_hashes_is_named(sealing: Path, person: User) -> None:
    session = talk(person, "s-1", 4)
    talk(person, "s-2", 2)
    assert "Root 1: 6 rows" in seal(sealing)
    talk(person, "s-1", 3)
    assert "Root 2: 3 rows" in seal(sealing)
    assert "2 roots compared, 0 differences" in verify(sealing)
    rewrite(session, 3)
    found = verify(sealing)
    assert f"event {session.pk} 3: altered, by root 1" in found
    assert f"event {session.pk} 5: altered, by root 2" in found and f"{session.pk} 4" not in found
    assert "0 not as they were written" in found
    assert f"event {session.pk} 5: altered, by root 2" in verify(sealing / "root-00000002.txt")


def test_each_root_writes_a_line_to_the_log_with_its_number_and_hash(
    sealing: Path, person: User, caplog: pytest.LogCaptureFixture
) -> None:
    """Operators send the lines to syslog: a place that loses its last roots is found by its last line."""
    caplog.set_level(logging.INFO, "sessions_app.history.evidence.sealing")
    for _ in range(2):
        talk(person, "s-1", 1)
        seal(sealing)
    written = [
        hashlib.sha256((sealing / f"root-0000000{number}.txt").read_bytes()).hexdigest() for number in (1, 2)
    ]
    lines = [
        row.getMessage() for row in caplog.records if row.name == "sessions_app.history.evidence.sealing"
    ]
    assert lines == [
        f"Root {number} is sealed, with the SHA-256 {sha256}" for number, sha256 in enumerate(written, 1)
    ]


class FailsOnce(InMemoryStorage):
    """A place that cannot be written the first time."""

    def save(self, *args: Any, **kwargs: Any) -> str:
        if not hasattr(self, "has_failed"):
            self.has_failed = True
            raise OSError("The place is full.")
        return super().save(*args, **kwargs)


class StoppedAfter(StringIO):
    """Output of a command that somebody stops by Ctrl-C as soon as it has a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def write(self, text: str) -> int:
        written = super().write(text)
        if self._text in text:
            raise KeyboardInterrupt
        return written


def test_a_sealer_that_goes_on_tries_again_after_a_failure_and_adds_nothing_to_a_forged_root(
    sealing: Path, key: Ed25519PrivateKey, person: User, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    backend = {"BACKEND": f"{__name__}.{FailsOnce.__name__}"}
    settings.STORAGES = {**settings.STORAGES, "roots": backend}
    talk(person, "s-1", 1)

    def seal_every_moment(out: StringIO) -> None:
        key_file = sealing.parent / "root.key"
        call_command("adk_seal", to="roots", key=key_file, every=0.0001, stdout=out)

    out = StoppedAfter("Root 3: ")
    with pytest.raises(KeyboardInterrupt):
        seal_every_moment(out)
    assert [line.split(":")[0] for line in out.getvalue().splitlines()] == ["Root 1", "Root 2", "Root 3"]
    failures = [row for row in caplog.records if row.name == "sessions_app.management.commands.adk_seal"]
    assert len(failures) == 1 and "No root was written" in failures[0].getMessage()
    assert [root.number for root in root_file.roots_at("roots", key.public_key())] == [1, 2, 3]
    storage = root_file.storage_at("roots")
    storage.delete("root-00000003.txt")
    storage.save("root-00000003.txt", ContentFile(b"forged"))
    with pytest.raises(CommandError, match="does not have the signature of this key"):
        seal_every_moment(StringIO())
    assert root_file.root_numbers(storage) == [1, 2, 3]


def test_no_root_is_written_within_a_transaction(sealing: Path, key: Ed25519PrivateKey) -> None:
    """It would wait for the end of its own transaction."""
    with transaction.atomic(), pytest.raises(TransactionManagementError):
        sealing_module.seal(root_file.storage_at(str(sealing)), key)


def test_each_change_of_records_is_named(sealing: Path, person: User) -> None:
    session = talk(person, "s-1", 1)
    SessionAct.objects.record(session.pk, Act(SITE, ActionKind.STOP, ("invocation", "e-1")))
    act = StaffAct.objects.create(actor_name="ada", action=ActionKind.STOP)
    access = StaffAccess.objects.create(actor_name="ada", kind="open")
    request = ActRequest.objects.create(actor_name="ada", act="erase")
    step = ActRequestStep.objects.create(actor_name="ada", request=request, kind="answer")
    case = CaseFile.objects.create(actor_name="ada", title="Refunds")
    item = CaseItem.objects.create(actor_name="ada", case=case, session_id=session.pk)
    entry = CaseEntry.objects.create(actor_name="ada", case=case, kind="note")
    Invocation.objects.create(session=session, invocation_id="e-1", client_id="c", message={})
    Invocation.objects.update(status="failed")
    end = RecordedEnd.objects.get()
    seal(sealing)
    for column in ("hash", "error_hash"):
        with transaction.atomic():
            RecordedEnd.objects.update(**{column: b""})
            assert f"recordedend {end.pk}: altered" in verify(sealing)
            transaction.set_rollback(True)
    rows = {
        f"staffact {act.pk}: altered": StaffAct.objects.filter(pk=act.pk).update,
        f"staffaccess {access.pk}: altered": StaffAccess.objects.filter(pk=access.pk).update,
        f"actrequest {request.pk}: altered": ActRequest.objects.filter(pk=request.pk).update,
        f"actrequeststep {step.pk}: altered": ActRequestStep.objects.filter(pk=step.pk).update,
        f"casefile {case.pk}: altered": CaseFile.objects.filter(pk=case.pk).update,
        f"caseitem {item.pk}: altered": CaseItem.objects.filter(pk=item.pk).update,
        f"caseentry {entry.pk}: altered": CaseEntry.objects.filter(pk=entry.pk).update,
    }
    for expected, update in rows.items():
        with transaction.atomic():
            update(actor_name="mallory")
            assert expected in verify(sealing)
            transaction.set_rollback(True)
    StaffAct.objects.all().delete()
    tamper(lambda: Event.objects.all().delete())
    found = verify(sealing)
    assert f"staffact {act.pk}: missing" in found and f"event {session.pk} 1: missing" in found


def test_the_proofs_of_many_events_read_each_root_once(
    sealing: Path, person: User, key: Ed25519PrivateKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        talk(person, "s-1", 2)
        talk(person, f"s-{number + 2}", 2)
        seal(sealing)
    proofs = proofs_module.Proofs(str(sealing), key.public_key())
    read: list[str] = []
    parse = root_file.parse_root

    def count(data: bytes, public: Ed25519PublicKey, name: str) -> root_file.Root:
        read.append(name)
        return parse(data, public, name)

    monkeypatch.setattr(proofs_module, "parse_root", count)
    events = list(Event.objects.order_by("session", "seq"))
    found = proofs.of(events)
    assert read == [f"root-0000000{number}.txt" for number in (1, 2, 3)]
    for event in events:
        proof = found[event.pk]
        assert proof["row"].startswith(f"event {event.session_id} {event.seq} ")
        assert tree_above(proof["row"], proof["path"]) == json.loads(proof["head"])["tree"]


def test_an_erasure_is_no_difference_and_an_event_slipped_in_is(sealing: Path, person: User) -> None:
    erased, other = talk(person, "s-1", 2), talk(person, "s-2", 2)
    SessionAct.objects.record(erased.pk, Act(SITE, ActionKind.STOP, ("invocation", "e-1")))
    gap = Event.objects.get(session=erased, seq=1).pk
    seal(sealing)
    erase_session(erased.pk, ErasureOrder("Asked for."))
    assert "0 differences" in verify(sealing)
    tamper(lambda: Event.objects.create(pk=gap, session=other, seq=9, body={}))
    assert f"event {other.pk} 9: added" in verify(sealing)
    tamper(Event.objects.filter(pk=gap).delete)
    below = StaffAct.objects.create(pk=-5, actor_name="ada", action=ActionKind.STOP)
    assert "staffact -5: added" in verify(sealing)
    below.delete()
    erase_user(person.pk, ErasureOrder("Asked for."))
    seal(sealing)
    assert "0 differences" in verify(sealing)


def test_a_pack_is_no_difference_unless_its_events_were_changed(
    sealing: Path, person: User, settings: Any, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    session = talk(person, "s-1", 3)
    seal(sealing)
    count_figures(5)
    assert pack_session(session.pk)
    seal(sealing)
    assert "0 differences" in verify(sealing)
    session.refresh_from_db()
    open_pack(session)
    assert "0 differences" in verify(sealing)
    rewrite(session, 2)
    count_figures(5)
    assert pack_session(session.pk)
    found = verify(sealing)
    assert f"event {session.pk} 2: missing" in found and "1 difference" in found


def test_roots_that_were_changed_or_removed_are_refused(sealing: Path, person: User) -> None:
    for _ in range(3):
        talk(person, "s-1", 1)
        seal(sealing)
    second = sealing / "root-00000002.txt"
    content = second.read_bytes()
    second.unlink()
    assert "Root 3 does not follow root 1" in verify(sealing)
    second.write_bytes(content.replace(b"event", b"Event"))
    assert "does not have the signature of this key" in verify(sealing)
    first = sealing / "root-00000001.txt"
    second.write_bytes(first.read_bytes())
    assert "was moved" in verify(sealing)
    second.write_bytes(content)
    first.unlink()
    assert "Root 2 does not follow root 0" in verify(sealing)
    for file in sealing.iterdir():
        file.unlink()
    assert "no signed root" in verify(sealing)


def test_a_root_spans_a_bounded_number_of_keys(
    sealing: Path, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Tables keep counting their keys from test to test.
    talk(person, "s-0", 1)
    seal(sealing)
    monkeypatch.setattr(sealing_module, "ROWS_PER_TABLE", 3)
    talk(person, "s-1", 7)
    assert seal(sealing).count("Root ") >= 3
    assert "0 differences" in verify(sealing)


def test_the_place_may_be_any_storage_of_the_settings(sealing: Path, person: User, settings: Any) -> None:
    backend = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    settings.STORAGES = {**settings.STORAGES, "roots": backend}
    talk(person, "s-1", 1)
    call_command("adk_seal", to="roots", key=sealing.parent / "root.key", stdout=StringIO())
    out = StringIO()
    call_command("adk_verify", against="roots", public_key=sealing.parent / "root.pub", stdout=out)
    assert "1 root compared, 0 differences" in out.getvalue()
