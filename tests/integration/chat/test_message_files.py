"""Messages with files: which files a message may refer to, and what the log and the model have of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.db.models.signals import pre_save
from pytest_django import Settings

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.errors import SessionNotFoundError
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.errors import InvalidInputError, NotFoundError, error_code
from sessions_app.invocations.worker import worker
from sessions_app.models import Artifact, Event, Invocation, Session
from sessions_app.store import DjangoArtifactService
from tests.fakes import ScriptedModel
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100_000)


@pytest.fixture
def model(served: Served, settings: Settings, tmp_path: Path) -> ScriptedModel:
    settings.MEDIA_ROOT = tmp_path
    scripted = ScriptedModel(rule=lambda request: "Done.")
    app = App(name="shop", root_agent=LlmAgent(name="agent", model=scripted))
    served(app)
    return scripted


async def upload(person: User, session: Session, name: str, data: bytes = b"text") -> tuple[str, int]:
    row = await use_cases.upload_file(person, session.pk, SimpleUploadedFile(name, data))
    return row.filename, row.version


async def rows_of(session: Session) -> int:
    return await Invocation.objects.filter(session=session).acount()


async def test_the_model_has_the_bytes_and_the_log_a_reference(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    files = [await upload(person, session, "cat.png", PNG), await upload(person, session, "a.csv", b"1,2")]
    await use_cases.send_message(actors.person(person), session.pk, "m1", "What?", files)
    await worker().wait_until_idle()
    parts = model.requests[0].contents[0].parts or []
    assert [part.text for part in parts] == ["What?", "The file 'cat.png':", None, "The file 'a.csv':\n1,2"]
    assert parts[2].inline_data == types.Blob(data=PNG, mime_type="image/png")
    event = await Event.objects.filter(session=session).order_by("seq").afirst()
    assert event is not None
    assert event.body["content"]["parts"][1:] == [
        {"fileData": {"fileUri": "artifact:cat.png?version=0", "mimeType": "image/png"}},
        {"fileData": {"fileUri": "artifact:a.csv?version=0", "mimeType": "text/csv"}},
    ]


async def test_a_message_may_be_files_alone(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    file = await upload(person, session, "notes.txt")
    await use_cases.send_message(actors.person(person), session.pk, "m1", " ", [file, file])
    await worker().wait_until_idle()
    assert [part.text for part in model.requests[0].contents[0].parts or []] == [
        "The file 'notes.txt':\ntext"
    ]
    await session.arefresh_from_db()
    assert session.title == "notes.txt"
    with pytest.raises(InvalidInputError, match="The message is empty"):
        await use_cases.send_message(actors.person(person), session.pk, "m2", " ")


async def test_a_switch_to_a_message_of_files_alone_gives_its_title_back(
    person: User, model: ScriptedModel
) -> None:
    session = await use_cases.create_session(person, "shop")
    file = await upload(person, session, "notes.txt")
    first, _ = await use_cases.send_message(actors.person(person), session.pk, "m1", "", [file])
    await worker().wait_until_idle()
    await use_cases.edit_message(actors.person(person), session.pk, "m2", "words", first)
    await worker().wait_until_idle()
    await session.arefresh_from_db()
    assert session.title == "words"
    await use_cases.switch_alternative(actors.person(person), session.pk, 1)
    await session.arefresh_from_db()
    assert session.title == "notes.txt"


async def test_a_repeated_message_starts_nothing(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    file = await upload(person, session, "notes.txt")
    first = await use_cases.send_message(actors.person(person), session.pk, "m1", "", [file])
    await worker().wait_until_idle()
    assert (await use_cases.send_message(actors.person(person), session.pk, "m1", "", [file]))[0] == first[0]
    assert await rows_of(session) == await Artifact.objects.acount() == 1


async def test_only_uploads_of_the_session_can_be_sent(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    elsewhere = await use_cases.create_session(person, "shop")
    file = await upload(person, elsewhere, "a.txt")
    owner = {"app_name": "shop", "user_id": str(person.pk), "session_id": session.key}
    for name in ("made.txt", "user:me.txt"):
        await DjangoArtifactService().save_artifact(**owner, filename=name, artifact=types.Part(text="x"))
    for wanted in (file, ("made.txt", 0), ("user:me.txt", 0), ("a\0", 0), ("../../x", 0), ("\ud800", 0)):
        with pytest.raises(NotFoundError, match="There is no file"):
            await use_cases.send_message(actors.person(person), session.pk, "m1", "x", [wanted])
    stranger = await sync_to_async(User.objects.create_user)("eve")
    with pytest.raises(NotFoundError, match="no such chat"):
        await use_cases.send_message(actors.person(stranger), elsewhere.pk, "m1", "x", [file])
    assert await rows_of(session) == await rows_of(elsewhere) == 0


async def test_the_number_of_files_is_limited(person: User, model: ScriptedModel, settings: Settings) -> None:
    settings.ADK = {"upload_files": 1}
    session = await use_cases.create_session(person, "shop")
    files = [await upload(person, session, name) for name in ("a.txt", "b.txt")]
    with pytest.raises(InvalidInputError, match="has 2 files; the limit is 1"):
        await use_cases.send_message(actors.person(person), session.pk, "m1", "x", files)


async def test_an_edit_with_a_missing_file_changes_nothing(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    file = await upload(person, session, "a.txt")
    first, _ = await use_cases.send_message(actors.person(person), session.pk, "m1", "one", [file])
    await worker().wait_until_idle()
    events = await Event.objects.filter(session=session).acount()
    with pytest.raises(NotFoundError):
        await use_cases.edit_message(actors.person(person), session.pk, "m2", "two", first, [("gone.txt", 0)])
    assert await Event.objects.filter(session=session).acount() == events
    await use_cases.edit_message(actors.person(person), session.pk, "m2", "two", first, [file])
    await worker().wait_until_idle()
    assert [part.text for part in model.requests[-1].contents[-1].parts or []] == [
        "two",
        "The file 'a.txt':\ntext",
    ]


async def test_a_session_that_is_deleted_while_a_file_is_saved_is_named_and_no_bytes_stay(
    person: User, model: ScriptedModel, tmp_path: Path
) -> None:
    session = await use_cases.create_session(person, "shop")

    def delete_session(**_: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM sessions_app_session WHERE id = %s", [session.pk])

    pre_save.connect(delete_session, sender=Artifact)
    try:
        with pytest.raises(SessionNotFoundError, match="was deleted while a file was saved") as refusal:
            await upload(person, session, "cat.png", PNG)
    finally:
        pre_save.disconnect(delete_session, sender=Artifact)
    assert error_code(refusal.value) == "not_found"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
