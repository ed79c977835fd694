"""The session and artifact services on PostgreSQL, beyond the contract that every service keeps (S2, S3, F1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from runtime import types
from runtime.events import Event, EventActions
from runtime.sessions import Session
from sessions_app import conf, models
from sessions_app.db.threads import in_thread
from sessions_app.errors import InvalidInputError
from sessions_app.jobs.staging import stage_job, staged_jobs, staging
from sessions_app.services import DjangoArtifactService, DjangoSessionService
from sessions_app.services.history_cache import History, HistoryCache
from sessions_app.services.session_service import CommittedEvent
from tests.fakes import text_content

pytestmark = pytest.mark.usefixtures("loop_end")
APP = "shop"


def said(text: str, **delta: Any) -> Event:
    return Event(author="clerk", content=text_content(text), actions=EventActions(state_delta=delta))


async def opened(person: User, **kwargs: Any) -> Session:
    return await DjangoSessionService().create_session(app_name=APP, user_id=str(person.pk), **kwargs)


async def loaded(session: Session) -> Session:
    found = await DjangoSessionService().get_session(
        app_name=APP, user_id=session.user_id, session_id=session.id
    )
    assert found is not None
    return found


async def row_of(session: Session) -> models.Session:
    return await models.Session.objects.aget(app_name=APP, user_id=session.user_id, key=session.id)


async def appended_elsewhere(session: Session, *texts: str) -> None:
    """What another process adds: this one's cache does not learn of it."""
    row = await row_of(session)
    for text in texts:
        row.last_seq += 1
        body = Event(author="clerk", content=text_content(text)).model_dump(
            mode="json", by_alias=True, exclude_none=True
        )
        await models.Event.objects.acreate(session=row, seq=row.last_seq, body=body)
    await row.asave(update_fields=["last_seq"])


def texts(session: Session) -> list[str]:
    return [event.text() for event in session.events]


class TestCache:
    """A process keeps the histories it has served and reads only what is new (design.md)."""

    async def test_what_was_read_once_is_not_read_again(
        self, person: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = await opened(person)
        await appended_elsewhere(session, "a", "b")
        first = await loaded(session)
        await appended_elsewhere(session, "c")
        decoded: list[str] = []
        from_json = Event.model_validate_json
        monkeypatch.setattr(
            Event, "model_validate_json", lambda body: (decoded.append(body), from_json(body))[1]
        )
        second = await loaded(session)
        assert texts(second) == ["a", "b", "c"]
        assert len(decoded) == 1
        assert second.events[0] is first.events[0]

    async def test_what_another_process_appended_is_seen(self, person: User) -> None:
        session = await opened(person)
        await DjangoSessionService().append_event(session, said("a"))
        await appended_elsewhere(session, "b")
        assert texts(await loaded(session)) == ["a", "b"]
        await DjangoSessionService().append_event(session, said("c"))
        assert texts(session) == texts(await loaded(session)) == ["a", "b", "c"]

    async def test_a_session_made_anew_under_the_same_id_has_none_of_the_old_events(
        self, person: User
    ) -> None:
        session = await opened(person, session_id="s")
        for text in ("old 1", "old 2", "old 3"):
            await DjangoSessionService().append_event(session, said(text))
        await (
            models.Session.objects.all().adelete()
        )  # by another process: this one's cache does not learn of it
        again = await opened(person, session_id="s")
        assert texts(again) == []
        await appended_elsewhere(again, "new 1", "new 2", "new 3", "new 4")
        assert texts(await loaded(again)) == ["new 1", "new 2", "new 3", "new 4"]

    def test_the_longest_unused_history_is_forgotten_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sessions_app.services.history_cache.conf", lambda: conf.Conf(cached_events=4))
        cache = HistoryCache()
        for name in "ab":
            cache.keep((APP, "1", name), History(_uuid(name), events=[said(name), said(name)]))
        cache.get((APP, "1", "a"))
        cache.keep((APP, "1", "c"), History(_uuid("c"), events=[said("c")]))
        assert [cache.get((APP, "1", name)) is None for name in "abc"] == [False, True, False]

    def test_a_history_with_a_gap_is_not_extended(self) -> None:
        cache, name = HistoryCache(), (APP, "1", "a")
        history = History(_uuid("a"), events=[said("1")])
        cache.keep(name, history)
        cache.extend(name, _uuid("a"), 2, [said("3")])
        assert len(history.events) == 1
        cache.extend(name, _uuid("a"), 0, [said("1"), said("2"), said("3")])
        assert [event.text() for event in history.events] == ["1", "2", "3"]
        cache.extend(name, _uuid("b"), 3, [said("4")])
        assert cache.get(name) is None


class TestCommitNews:
    """What the service tells of a commit, and creates with it."""

    async def test_on_commit_tells_what_is_stored(self, person: User) -> None:
        told: list[CommittedEvent] = []
        session = await opened(person)
        service = DjangoSessionService(on_commit=told.append)
        event = await service.append_event(session, said("a"))
        fragment = said("fragment")
        fragment.partial = True
        await service.append_event(session, fragment)
        [committed] = told
        assert (committed.session_id, committed.seq, committed.event) == (
            (await row_of(session)).pk,
            1,
            event,
        )
        row = await models.Event.objects.aget(session_id=committed.session_id)
        assert Event.model_validate_json(committed.body) == Event.model_validate(row.body) == event

    async def test_a_staged_job_is_created_with_the_event_that_answers_its_call(self, person: User) -> None:
        session = await opened(person)
        service = DjangoSessionService(staged_jobs=staged_jobs)
        with staging():
            stage_job(_job("c1"))
            stage_job(_job("c2"))
            await service.append_event(session, said("about something else"))
            assert not await models.ToolJob.objects.aexists()
            await service.append_event(session, _answer("c1"))
        with staging():
            await service.append_event(session, _answer("c2"))
        assert [job.call_id async for job in models.ToolJob.objects.all()] == ["c1"]

    async def test_the_state_at_the_creation_is_kept(self, person: User) -> None:
        """What an audit replays the deltas on."""
        session = await opened(person, state={"a": 1})
        await DjangoSessionService().append_event(session, said("x", a=2))
        row = await row_of(session)
        assert (row.initial_state, row.state) == ({"a": 1}, {"a": 2})


class TestFiles:
    """The bytes of artifacts (F1)."""

    @pytest.mark.parametrize("filename", ["../../evil.txt", "user:report.pdf"])
    async def test_the_name_of_an_artifact_never_reaches_the_file_system(
        self, person: User, filename: str
    ) -> None:
        session = await opened(person)
        owner = {"app_name": APP, "user_id": session.user_id, "session_id": session.id}
        await DjangoArtifactService().save_artifact(**owner, filename=filename, artifact=types.Part(text="x"))
        row = await models.Artifact.objects.aget()
        assert "evil" not in row.file.name and "report" not in row.file.name and ".." not in row.file.name
        path = Path(row.file.path)
        assert path.read_bytes() == b"x"
        assert path.is_relative_to(Path(settings.MEDIA_ROOT))
        assert (row.size, len(row.sha256), row.filename) == (1, 64, filename)

    async def test_deleting_an_artifact_deletes_its_bytes(self, person: User) -> None:
        session = await opened(person)
        owner = {"app_name": APP, "user_id": session.user_id, "session_id": session.id}
        await DjangoArtifactService().save_artifact(**owner, filename="a", artifact=types.Part(text="x"))
        path = Path((await models.Artifact.objects.aget()).file.path)
        await DjangoArtifactService().delete_artifact(**owner, filename="a")
        assert not path.exists()
        assert not await models.Artifact.objects.aexists()

    async def test_the_bytes_go_with_the_session_and_with_the_user(self, person: User) -> None:
        session = await opened(person)
        owner = {"app_name": APP, "user_id": session.user_id, "session_id": session.id}
        for name in ("a", "user:b"):
            await DjangoArtifactService().save_artifact(**owner, filename=name, artifact=types.Part(text="x"))
        mine, users = [Path(row.file.path) async for row in models.Artifact.objects.order_by("filename")]
        await DjangoSessionService().delete_session(**owner)
        assert (mine.exists(), users.exists()) == (False, True)
        await person.adelete()
        assert not users.exists()

    async def test_bytes_stay_when_their_row_is_not_deleted_after_all(self, person: User) -> None:
        def fail() -> None:
            with transaction.atomic():
                models.Session.objects.all().delete()
                raise LookupError("not after all")

        session = await opened(person)
        owner = {"app_name": APP, "user_id": session.user_id, "session_id": session.id}
        await DjangoArtifactService().save_artifact(**owner, filename="a", artifact=types.Part(text="x"))
        with pytest.raises(LookupError):
            await in_thread(fail)
        assert await DjangoArtifactService().load_artifact(**owner, filename="a") == types.Part(text="x")

    @pytest.mark.parametrize("filename", ["nul\0", "half\ud800", "x" * 1025])
    async def test_a_name_that_cannot_be_stored_is_refused_with_a_sentence(
        self, person: User, filename: str
    ) -> None:
        session = await opened(person)
        owner = {"app_name": APP, "user_id": session.user_id, "session_id": session.id}
        files = DjangoArtifactService()
        with pytest.raises(InvalidInputError, match="cannot be stored"):
            await files.save_artifact(**owner, filename=filename, artifact=types.Part(text="x"))
        assert await files.load_artifact(**owner, filename=filename) is None
        assert await files.list_versions(**owner, filename=filename) == []
        await files.delete_artifact(**owner, filename=filename)


@pytest.mark.parametrize("session_id", ["x" * 256, "nul\0", "half\ud800"])
async def test_a_session_id_that_cannot_be_stored_is_refused_with_a_sentence(
    person: User, session_id: str
) -> None:
    with pytest.raises(InvalidInputError, match="cannot be stored"):
        await opened(person, session_id=session_id)


def _uuid(name: str) -> Any:
    return f"uuid-{name}"


def _job(call_id: str) -> dict[str, Any]:
    return {
        "id": f"0c5d0b3e-0000-4000-8000-00000000000{call_id[-1]}",
        "invocation_id": "e-1",
        "call_id": call_id,
        "tool_name": "write_report",
        "task_name": "reports.write",
        "agent_name": "clerk",
        "args": {},
    }


def _answer(call_id: str) -> Event:
    response = types.FunctionResponse(id=call_id, name="write_report", response={"status": "pending"})
    part = types.Part(function_response=response)
    return Event(author="clerk", invocation_id="e-1", content=types.Content(role="user", parts=[part]))
