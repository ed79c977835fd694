"""Import of a session: an equal one, with the hash of the original log; what does not verify is refused."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db.models.functions import Now

from runtime.events import Event as AdkEvent
from runtime.events import EventActions
from sessions_app.data_protection.erase import ErasureOrder, erase_session
from sessions_app.data_protection.export import export_session
from sessions_app.data_protection.import_session import import_session
from sessions_app.errors import ConflictError, InvalidInputError, LimitExceededError
from sessions_app.history.evidence.integrity import flaw_in
from sessions_app.history.figures.batches import count_figures
from sessions_app.history.figures.event_words import events_without_words
from sessions_app.models import Artifact, Event, Session, SessionAct, UserState
from sessions_app.models.session import TitleSource
from sessions_app.process.pool import fetch_all
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoSessionService
from tests.fakes import text_content
from tests.integration.admin.audit_rows import make_artifact
from tests.integration.locks import blocked, held

pytestmark = pytest.mark.usefixtures("transactional_db", "background_end", "loop_end")
ODD = "items \u202e \ud7ff 'x' \"y\" ünï"


async def talked(user: User, **delta: Any) -> Session:
    service = DjangoSessionService()
    session = await service.create_session(
        app_name="shop", user_id=str(user.pk), state={"begun": 1.10, "user:diet": "soup"}
    )
    for number, text in enumerate(("Hello", ODD)):
        actions = EventActions(state_delta={"n": number, "items": {"a": [number, None, 1e300]}, **delta})
        await service.append_event(
            session, AdkEvent(author="user", content=text_content(text), actions=actions)
        )
    return await Session.objects.aget(key=session.id)


@pytest.fixture
async def session(person: User, transactional_db: None) -> Session:
    return await talked(person)


def contents(session_pk: Any) -> Any:
    """All that an import gives back."""
    row = Session.objects.get(pk=session_pk)
    events = list(Event.objects.filter(session=row).order_by("seq").values("seq", "body", "before", "hash"))
    files = [
        (
            file.filename,
            file.version,
            file.mime_type,
            file.part_kind,
            file.sha256,
            Path(file.file.path).read_bytes(),
        )
        for file in Artifact.objects.filter(session=row).order_by("pk")
    ]
    for event in events:
        event["hash"] = bytes(event["hash"] or b"")
    names = (row.app_name, row.key, row.title, row.title_source, row.created_at, row.updated_at)
    return names, row.state, row.initial_state, bytes(row.log_hash), row.last_seq, events, files


def exported(session: Session, tmp_path: Path) -> Path:
    export_session(session.pk, tmp_path / "s.zip")
    return tmp_path / "s.zip"


def changed(source: Path, change: Callable[[dict[str, bytes]], None], *, with_manifest: bool) -> Path:
    """Write the archive anew with a change, and with a manifest that fits if asked."""
    with ZipFile(source) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    if with_manifest:
        listed = [
            {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in files.items()
            if name != "manifest.json"
        ]
        files["manifest.json"] = json.dumps({"files": listed}).encode()
    target = source.with_name("changed.zip")
    with ZipFile(target, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return target


def test_16_an_imported_session_equals_the_exported_one(
    session: Session, person: User, tmp_path: Path
) -> None:
    make_artifact(session, f"{ODD}.txt", b"\x00\xff" * 1000)
    unused_since = Now() - timedelta(days=9)
    Session.objects.update(title=ODD, title_source=TitleSource.PERSON, updated_at=unused_since)
    before = contents(session.pk)
    while count_figures(60):
        pass
    source = exported(session, tmp_path)
    erase_session(session.pk, ErasureOrder(reason="To be imported again"))
    UserState.objects.update(state={"diet": "bread"})
    call_command("adk_import_session", "--user", person.username, str(source))
    assert contents(session.pk) == before
    assert flaw_in(session.pk) is None
    assert UserState.objects.get().state == {"diet": "bread"}, "The person's value of today stays."
    act = SessionAct.objects.get(session=session.pk, action="add")
    assert act.reason == "Imported; its log is the original one."
    waiting = events_without_words(99)
    assert waiting == [event.pk for event in Event.objects.all()], (
        "The search must read them: no index has them."
    )


def test_another_person_gets_it_with_the_user_state_that_is_missing(session: Session, tmp_path: Path) -> None:
    source = exported(session, tmp_path)
    erase_session(session.pk, ErasureOrder(reason="Moved"))
    eve = User.objects.create_user("eve")
    assert import_session(source, eve.pk).doubt == ""
    assert Session.objects.get(pk=session.pk).user == eve
    assert UserState.objects.get(user=eve).state == {"diet": "soup"}


async def test_an_import_keeps_what_an_agent_stores_at_the_same_time(
    session: Session, person: User, tmp_path: Path
) -> None:
    source = await in_thread(exported, session, tmp_path)
    await in_thread(erase_session, session.pk, ErasureOrder(reason="Moved"))
    waits_for_row = "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
    async with held("LOCK TABLE sessions_app_event IN SHARE MODE") as events:
        importing = asyncio.create_task(in_thread(import_session, source, person.pk))
        await blocked(1)
        async with held('UPDATE sessions_app_userstate SET state = \'{"diet": "bread"}\''):
            await events.commit()
            while not await fetch_all(waits_for_row, {}):
                await asyncio.sleep(0.01)
    await importing
    assert (await UserState.objects.aget(user=person)).state == {"diet": "bread"}


def test_a_session_that_exists_is_not_overwritten(session: Session, person: User, tmp_path: Path) -> None:
    source = exported(session, tmp_path)
    with pytest.raises(ConflictError, match="already"):
        import_session(source, person.pk)


def refused_import(session: Session, person: User, tmp_path: Path) -> tuple[Path, str]:
    """Import an erased session anew; return its export, and the reason for which it is refused."""
    source = exported(session, tmp_path)
    erase_session(session.pk, ErasureOrder(reason="To be imported again"))
    with pytest.raises(CommandError) as refusal:
        call_command("adk_import_session", "--user", person.username, str(source))
    return source, str(refusal.value)


def unverified_import(source: Path, person: User) -> tuple[str, str]:
    """Return what the command prints, and the reason in the record of the import."""
    out = StringIO()
    call_command("adk_import_session", "--user", person.username, str(source), "--unverified", stdout=out)
    return out.getvalue(), SessionAct.objects.get(action="add", reason__startswith="Imported").reason


async def test_a_masked_log_is_refused_unless_it_is_accepted_and_told(person: User, tmp_path: Path) -> None:
    session = await talked(person, api_key="hunter2")
    source, refusal = await in_thread(refused_import, session, person, tmp_path)
    assert "masked or changed" in refusal
    assert not await Session.objects.filter(pk=session.pk).aexists()
    told, reason = await in_thread(unverified_import, source, person)
    assert "masked or changed" in told and "Imported unverified" in reason
    assert await in_thread(flaw_in, session.pk) is None


@pytest.mark.parametrize("place", ["api_key", "user:api_key"])
async def test_a_masked_state_is_refused_although_the_log_is_the_original_one(
    person: User, tmp_path: Path, place: str
) -> None:
    state = {place: "hunter2", "said": "[masked] is a word"}
    created = await DjangoSessionService().create_session(
        app_name="shop", user_id=str(person.pk), state=state
    )
    session = await Session.objects.aget(key=created.id)
    source, refusal = await in_thread(refused_import, session, person, tmp_path)
    assert "The state has [masked] in place of values" in refusal and "--unverified" in refusal
    assert not await Session.objects.filter(pk=session.pk).aexists()
    told, reason = await in_thread(unverified_import, source, person)
    assert "The state has [masked]" in told and "original one." not in told
    assert "Imported unverified" in reason


def test_a_text_that_speaks_of_the_mask_is_not_masked(session: Session, person: User, tmp_path: Path) -> None:
    Session.objects.filter(pk=session.pk).update(state={"said": "It shows [masked].", "[masked]": 1})
    source = exported(session, tmp_path)
    erase_session(session.pk, ErasureOrder(reason="To be imported again"))
    assert import_session(source, person.pk).doubt == ""


def test_an_archive_that_unpacks_to_too_much_is_refused(
    session: Session, person: User, tmp_path: Path, configure: Callable[..., None]
) -> None:
    make_artifact(session, "notes.txt", b" " * 5_000)
    source = exported(session, tmp_path)
    erase_session(session.pk, ErasureOrder(reason="To be imported again"))
    name = f"sessions/{session.pk}.json"
    head = f'{{"id": "{session.pk}", "state": '.encode()

    def inflate(files: dict[str, bytes]) -> None:
        files[name] = head + b" " * 110_000_000 + b"{}}"

    def nest(files: dict[str, bytes]) -> None:
        files[name] = head + b"[" * 100_000

    def repeat_file(files: dict[str, bytes]) -> None:
        [file] = json.loads(files["artifacts.json"])
        rows = [{**file, "version": version, "size": 1} for version in range(30)]
        files["artifacts.json"] = json.dumps(rows).encode()

    configure(max_artifact_bytes_per_user=100_000)
    for change, words in (
        (inflate, f"'{name}' unpacks to 1100000.. bytes, and an import reads at most 100000000 bytes"),
        (nest, "has JSON that is nested too deeply to be read"),
        (repeat_file, "The files of a person may have 100000 bytes together"),
    ):
        with pytest.raises((InvalidInputError, LimitExceededError), match=words):
            import_session(changed(source, change, with_manifest=True), person.pk)
    assert not Session.objects.exists() and not Artifact.objects.exists()


def test_what_was_changed_is_refused_with_the_place(session: Session, person: User, tmp_path: Path) -> None:
    make_artifact(session, "notes.txt")
    source = exported(session, tmp_path)
    erase_session(session.pk, ErasureOrder(reason="To be imported again"))
    name = f"sessions/{session.pk}.json"

    def forge(files: dict[str, bytes]) -> None:
        files[name] = files[name].replace(b"Hello", b"Hollo")

    def add(files: dict[str, bytes]) -> None:
        files["../evil"] = b"x"

    def drop(files: dict[str, bytes]) -> None:
        del files["manifest.json"]

    def break_json(files: dict[str, bytes]) -> None:
        files["sessions.json"] = b'[{"id": 5}]'

    def lengthen(files: dict[str, bytes]) -> None:
        files["sessions.json"] = files["sessions.json"].replace(b'"title": "', b'"title": "' + b"x" * 300)

    for change, with_manifest, words in (
        (forge, False, f"'{name}' does not have the size"),
        (forge, True, "masked or changed"),
        (add, False, "differ: '../evil'"),
        (drop, False, "no manifest.json"),
        (break_json, True, "is no archive of a session"),
        (lengthen, True, "is no archive of a session: value too long"),
    ):
        with pytest.raises((InvalidInputError, ConflictError), match=words):
            import_session(changed(source, change, with_manifest=with_manifest), person.pk)
    with pytest.raises(InvalidInputError, match="is no archive"):
        (tmp_path / "x.zip").write_bytes(b"PK\x03\x04 not a zip")
        import_session(tmp_path / "x.zip", person.pk)
    assert not Session.objects.exists() and not Artifact.objects.exists()
