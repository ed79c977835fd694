"""Contract: a packed session comes back as it was, whoever opens it. Nothing in use is packed; a kill loses nothing."""

from __future__ import annotations

import json
import logging
import os
import signal
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import User
from django.core.files.storage import storages
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.http import StreamingHttpResponse
from django.test import Client
from django.utils import timezone

from runtime.agents import LlmAgent
from sessions_app.base import actors
from sessions_app.data_protection.erase import ErasureOrder, erase_session
from sessions_app.data_protection.export import export_user
from sessions_app.data_protection.packing import pack_session, pack_unused_sessions
from sessions_app.errors import FilesUnavailableError, LostPackError
from sessions_app.history.evidence.integrity import check_logs
from sessions_app.models import (
    ErasedSession,
    Event,
    EventWords,
    Invocation,
    LegalHold,
    Pack,
    Session,
    SessionFigures,
    Tombstone,
)
from sessions_app.process import threads
from sessions_app.sessions.list.search import search_sessions
from sessions_app.sessions.sharing import make_link
from sessions_app.store import DjangoSessionService
from sessions_app.store.packs import open_pack
from sessions_app.store.sql.event_log import events_after
from sessions_app.tasks import run_housekeeping
from tests.fakes import ScriptedModel
from tests.forked_program import ForkServer
from tests.integration.admin.audit_rows import append_event, make_job, make_scheduled_task
from tests.integration.invocations.rewind_helpers import ask
from tests.integration.management.terminal import site_environment
from tests.integration.session_helpers import count_all
from tests.integration.tampering import tamper, verified
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("transactional_db", "background_end")
ROWS = """
SELECT id, seq, body::text, before::text, model_call::text, hash, event_id, author, invocation_id, kind, text,
    happened_at FROM sessions_app_event WHERE session_id = %s ORDER BY seq"""
HOSTILE = '\u202eevil\u2028line\x1f"\\u0000 \u0000'.replace("\u0000", "\ufffd")


def rows_of(session: Session) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(ROWS, [session.pk])
        return [
            tuple(bytes(value) if isinstance(value, memoryview) else value for value in row) for row in cursor
        ]


@pytest.fixture
def session(person: User) -> Session:
    """An old session with hostile texts, numbers that no float holds, and all columns in use."""
    made = Session.objects.create(app_name="shop", user=person, key="old", title="Lamps")
    append_event(made, {"text": f"Where are the lanterns? {HOSTILE}"}, author="user")
    delta = {"stateDelta": {"size": 2}}
    append_event(made, {"text": "In the cellar."}, actions=delta, before={}, model_call={"model": "m"})
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO sessions_app_event (session_id, seq, body) VALUES (%s, 3, %s)",
            [
                made.pk,
                '{"author": "agent", "timestamp": 3, "n": [1e400, 0.1000000000000000055511, null, "\\n\\u0001"]}',
            ],
        )
    Session.objects.filter(pk=made.pk).update(last_seq=3, updated_at=timezone.now() - timedelta(days=400))
    count_all()
    made.refresh_from_db()
    return made


def packed(session: Session) -> Session:
    assert pack_session(session.pk)
    session.refresh_from_db()
    assert session.packed_at is not None and not Event.objects.filter(session=session).exists()
    return session


async def whole(response: StreamingHttpResponse) -> str:
    return b"".join([chunk async for chunk in response]).decode()


def test_a_packed_session_comes_back_as_it_was_and_packs_again_without_a_new_file(session: Session) -> None:
    before = rows_of(session)
    assert EventWords.objects.filter(session=session).count() == 2
    packed(session)
    assert not EventWords.objects.filter(session=session).exists()
    assert "1 session checked, 0 not as" in verified()
    count_all()  # no sweep waits for the words or counts again
    assert SessionFigures.objects.filter(session=session, is_settled=True, words_seq=3).exists()
    name = Pack.objects.get().file.name
    open_pack(session)
    assert rows_of(session) == before
    count_all()
    assert EventWords.objects.filter(session=session).count() == 2
    assert "1 session checked, 0 not as" in verified()
    packed(session)
    assert Pack.objects.get().file.name == name and len(os.listdir(storages["default"].path("packs"))) == 1
    open_pack(session)
    append_event(session, {"text": "One more."})
    count_all()
    packed(session)
    assert Pack.objects.get().file.name != name
    for file in Path(storages["default"].path("packs")).iterdir():
        os.utime(file, (0, 0))
    run_housekeeping()
    assert os.listdir(storages["default"].path("packs")) == [Path(Pack.objects.get().file.path).name]
    open_pack(session)
    assert rows_of(session)[:3] == before and len(rows_of(session)) == 4


def test_whoever_may_read_a_session_finds_it_as_before(
    session: Session,
    person: User,
    admin_client: Client,
    tmp_path: Path,
    served: Served,
    configure: Callable[..., None],
) -> None:
    configure(share_links=True)
    served(LlmAgent(name="shop", model=ScriptedModel()))
    own = Client()
    own.force_login(person)
    shared = make_link(session, actors.person(person))
    service = DjangoSessionService()
    load = partial(service.get_session, app_name="shop", user_id=str(person.pk), session_id="old")

    def page(client: Client, url: str) -> str:
        response = client.get(url)
        assert response.status_code == 200, url
        if isinstance(response, StreamingHttpResponse):
            return threads.run(whole(response))
        return response.content.decode()

    def exported() -> str:
        target = tmp_path / f"export-{len(os.listdir(tmp_path))}.zip"
        export_user(person.pk, target)
        with ZipFile(target) as archive:
            return archive.read(f"sessions/{session.pk}.json").decode()

    readers: list[Callable[[], str]] = [
        lambda: page(own, f"/chat/{session.pk}/"),
        lambda: page(own, f"/chat/{session.pk}/export/markdown/"),
        lambda: page(own, f"/api/v1/sessions/{session.pk}/events"),
        lambda: page(own, f"/adk/apps/shop/users/{person.username}/sessions/old"),
        lambda: page(own, f"/shared/{shared.token}/"),
        lambda: page(admin_client, f"/admin/sessions_app/session/{session.pk}/change/"),
        exported,
        lambda: str(threads.run(load())),
        lambda: str(threads.run(events_after(session.pk, 0, 10))),  # as a tab that was away for long
    ]
    for number, read in enumerate(readers):
        packed(session)
        assert "In the cellar." in read(), number
        count_all()
    assert check_logs([session.pk]) == []


def test_a_search_finds_a_packed_session_by_its_title_and_says_so(
    session: Session, person: User, configure: Callable[..., None]
) -> None:
    configure(pack_days=30)
    assert [found.pk for found in search_sessions(person, "lanterns").sessions] == [session.pk]
    packed(session)
    by_words, by_title = search_sessions(person, "lanterns"), search_sessions(person, "lamps")
    assert (by_words.sessions, by_words.has_packed) == ([], True)
    assert [found.pk for found in by_title.sessions] == [session.pk]


def test_a_stranger_opens_nothing(session: Session, client: Client) -> None:
    packed(session)
    client.force_login(User.objects.create_user("eve"))
    for url in (f"/chat/{session.pk}/", f"/api/v1/sessions/{session.pk}/events"):
        assert client.get(url).status_code == 404
    assert not Event.objects.exists()


def test_a_packed_session_goes_on_with_a_message_even_if_its_history_is_cached(
    session: Session, person: User, served: Served
) -> None:
    model = ScriptedModel()
    served(LlmAgent(name="shop", model=model))
    threads.run(ask(person, session, model, "one"))
    count_all()
    packed(session)
    threads.run(ask(person, session, model, "two"))
    contents = str(model.requests[-1].contents)
    assert "lanterns" in contents and "you said one" in contents
    assert check_logs([session.pk]) == [] and Event.objects.filter(session=session).count() == 7


def test_an_event_is_never_written_without_those_before(session: Session) -> None:
    packed(session)
    with pytest.raises(DatabaseError, match="are packed"), transaction.atomic():
        append_event(Session.objects.get(), {"text": "Forged."})
    with pytest.raises(DatabaseError, match="not the events"), connection.cursor() as cursor:
        lines = [json.dumps([pk, {"author": "agent"}, None, None, "00"]) for pk in (7, 8, 9)]
        cursor.execute("SELECT adk_open_pack(%s, %s)", [session.pk, lines])
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    "use",
    [
        lambda session: LegalHold.objects.create(session=session, reason="Claim"),
        lambda session: LegalHold.objects.create(user=session.user, reason="Claim"),
        lambda session: Invocation.objects.create(
            session=session, invocation_id="w", client_id="w", message={}, status="waiting"
        ),
        lambda session: make_job(session, status="succeeded", delivered_at=None),
        make_scheduled_task,
        lambda session: Session.objects.update(lease_owner="web 7"),
        lambda session: Session.objects.update(updated_at=timezone.now()),
        lambda session: Session.objects.update(deleted_at=timezone.now()),
        lambda session: SessionFigures.objects.update(words_seq=2),
        lambda session: tamper(lambda: Event.objects.filter(seq=2).update(body={"author": "agent"})),
    ],
    ids=["held", "person held", "waits", "job", "task", "leased", "used", "deleted", "unsearched", "altered"],
)
def test_what_is_held_in_use_or_altered_stays_in_the_tables(
    session: Session, use: Callable[[Session], object], configure: Callable[..., None]
) -> None:
    configure(pack_days=30)
    use(session)
    run_housekeeping()
    assert Event.objects.filter(session=session).count() == 3 and not Pack.objects.exists()


def test_the_housekeeping_packs_by_app_and_keeps_opened_sessions_for_a_week(
    session: Session, configure: Callable[..., None]
) -> None:
    run_housekeeping()
    configure(pack_days=30, apps={"shop": {"pack_days": 500}})
    run_housekeeping()
    assert Session.objects.filter(packed_at=None).exists()
    configure(pack_days=30)
    run_housekeeping()
    session.refresh_from_db()
    open_pack(session)
    count_all()
    run_housekeeping()
    assert Session.objects.filter(packed_at=None).exists()
    tamper(lambda: Pack.objects.update(opened_at=timezone.now() - timedelta(days=8)))
    assert pack_unused_sessions() == 1
    out = StringIO()
    call_command("adk_pack", open=True, stdout=out)
    assert "1 session opened" in out.getvalue() and Event.objects.count() == 3


@pytest.mark.parametrize("is_missing", [True, False])
def test_a_lost_file_is_told_and_can_be_erased(
    session: Session, person: User, admin_client: Client, is_missing: bool
) -> None:
    make_job(session, status="succeeded", delivered_at=timezone.now())
    other = Session.objects.create(app_name="shop", user=person, key="other")
    append_event(other, {"text": "Another chat."})
    count_all()
    packed(other)
    packed(session)
    path = Path(Pack.objects.get(pk=session.pk).file.path)
    content = path.read_bytes()
    if is_missing:
        path.unlink()
    else:
        path.write_bytes(content.replace(b"events.jsonl", b"events.json!"))
    with pytest.raises(LostPackError):
        open_pack(session)
    assert f"session {session.pk}, event 3: lost" in verified()
    with pytest.raises(CommandError, match=r"1 session opened\. 1 pack lost"):
        call_command("adk_pack", open=True)
    own = Client()
    own.force_login(person)
    told = own.get(f"/chat/{session.pk}/", headers={"accept": "text/html"})
    assert told.status_code == 409 and "archive of this chat is missing" in told.content.decode()
    page = admin_client.get(f"/admin/sessions_app/session/{session.pk}/change/")
    assert page.status_code == 200 and "archive of this chat is missing" in page.content.decode()
    badge = admin_client.get(f"/admin/sessions_app/session/{session.pk}/integrity/")
    assert "The file of the events up to #3 is missing or was changed" in badge.content.decode()
    erase_session(session.pk, ErasureOrder(reason="She asked for it."))
    assert not path.exists() and not Pack.objects.filter(pk=session.pk).exists()
    assert Tombstone.objects.get().counts["events"] == 3
    assert ErasedSession.objects.values_list("last_seq", flat=True).get() == 3


def test_an_erased_pack_leaves_the_record_that_its_events_would_have_left(session: Session) -> None:
    call = {"functionCall": {"id": "c", "name": "refund", "args": {"euros": 20}}}
    append_event(session, call)
    append_event(session, {"functionResponse": {"id": "c", "name": "refund", "response": {"ok": True}}})
    count_all()
    head = bytes(Event.objects.get(seq=5).hash or b"")
    packed(session)
    erase_session(session.pk, ErasureOrder(reason="She asked for it."))
    erased = ErasedSession.objects.get()
    assert bytes(erased.hash or b"") == head
    assert [act[1:] for act in erased.acts] == [["agent", "call", "refund", "euros=20"]]


def test_without_the_storage_everything_stays_in_the_tables(
    session: Session,
    configure: Callable[..., None],
    settings: Any,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    client: Client,
) -> None:
    configure(pack_days=30)
    media = settings.MEDIA_ROOT
    (tmp_path / "file").write_text("")
    settings.MEDIA_ROOT = tmp_path / "file" / "folder"  # below a file: nothing can be stored there
    with caplog.at_level(logging.ERROR):
        run_housekeeping()
    assert "pack_session" in caplog.text and "does not answer" in caplog.text and Event.objects.count() == 3
    settings.MEDIA_ROOT = media
    packed(session)
    settings.MEDIA_ROOT = tmp_path / "file" / "folder"
    with pytest.raises((FilesUnavailableError, LostPackError)):
        open_pack(session)
    settings.MEDIA_ROOT = media
    open_pack(session)
    assert Event.objects.count() == 3


def test_a_kill_at_any_statement_leaves_the_session_whole(session: Session, settings: Any) -> None:
    before = rows_of(session)
    media = Path(settings.MEDIA_ROOT)
    media.mkdir()
    module = "tests.integration.data_protection.killed_packing"
    moments = [1, -1]
    with ForkServer(site_environment(), "sessions_app.data_protection.packing") as server:
        for number in moments:
            program = server.run_with_log(
                module,
                str(session.pk),
                str(media),
                str(number),
                environment=site_environment(),
                log=media / "log",
            )
            code = program.wait()
            session.refresh_from_db()
            open_pack(session)
            assert rows_of(session) == before, number
            count_all()
            if code == -signal.SIGKILL:
                if number < 0:
                    moments += [1 - number, number - 1]
            else:
                assert code == 0, (media / "log").read_text()
    assert len(moments) > 12
