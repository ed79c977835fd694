"""The session and artifact services on PostgreSQL, beyond the contract of all services (contract S2, S3, F1)."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from runtime import types
from runtime.events import Event
from runtime.sessions import GetSessionConfig, Session
from sessions_app import conf, models
from sessions_app.base.codec import event_from_json, event_to_json
from sessions_app.errors import InvalidInputError
from sessions_app.jobs.staging import stage_job, staging, take_staged_jobs
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoArtifactService, DjangoSessionService, history_cache
from sessions_app.store.history_cache import History, HistoryCache
from sessions_app.store.session_service import CommittedEvent, Writer
from sessions_app.store.sql import event_log
from sessions_app.store.sql.event_rows import StagedJob
from tests.fakes import text_content
from tests.integration.session_helpers import (
    APP,
    create_session,
    key_of,
    load_session,
    session_row,
    text_event,
    texts,
)
from tests.integration.tampering import tamper_async

pytestmark = pytest.mark.usefixtures("loop_end")


@pytest.mark.parametrize("timestamp", [1e12, -1e12, 1e300, float("nan")])
async def test_an_event_outside_of_the_calendar_is_refused(person: User, timestamp: float) -> None:
    session = await create_session(person)
    with pytest.raises(InvalidInputError, match="not in the years 1 to 9999"):
        await DjangoSessionService().append_event(session, Event(author="clerk", timestamp=timestamp))
    await DjangoSessionService().append_event(session, text_event("still here"))
    assert texts(await load_session(session)) == ["still here"]


async def append_in_another_process(session: Session, *texts: str) -> None:
    """Add events that this process's cache does not know of, as another process would."""
    row = await session_row(session)
    for text in texts:
        row.last_seq += 1
        body = Event(author="clerk", content=text_content(text)).model_dump(
            mode="json", by_alias=True, exclude_none=True
        )
        await models.Event.objects.acreate(session=row, seq=row.last_seq, body=body)
    await row.asave(update_fields=["last_seq"])


class TestCache:
    """A process caches the histories it has loaded and reads only new events."""

    async def test_cached_events_are_not_decoded_again(
        self, person: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = await create_session(person)
        await append_in_another_process(session, "a", "b")
        first = await load_session(session)
        await append_in_another_process(session, "c")
        decoded: list[str] = []

        def record(body: str) -> Event:
            decoded.append(body)
            return event_from_json(body)

        monkeypatch.setattr(history_cache, "event_from_json", record)
        second = await load_session(session)
        assert texts(second) == ["a", "b", "c"]
        assert len(decoded) == 1
        assert second.events[0] is first.events[0]

    async def test_events_of_another_process_are_loaded(self, person: User) -> None:
        session = await create_session(person)
        await DjangoSessionService().append_event(session, text_event("a"))
        await append_in_another_process(session, "b")
        assert texts(await load_session(session)) == ["a", "b"]
        await DjangoSessionService().append_event(session, text_event("c"))
        assert texts(session) == texts(await load_session(session)) == ["a", "b", "c"]

    async def test_a_new_session_with_a_deleted_sessions_id_has_none_of_its_events(
        self, person: User
    ) -> None:
        session = await create_session(person, session_id="s")
        for text in ("old 1", "old 2", "old 3"):
            await DjangoSessionService().append_event(session, text_event(text))
        # As another process would: this process's cache does not learn of the deletion.
        await tamper_async(models.Session.objects.all().delete)
        again = await create_session(person, session_id="s")
        assert texts(again) == []
        await append_in_another_process(again, "new 1", "new 2", "new 3", "new 4")
        assert texts(await load_session(again)) == ["new 1", "new 2", "new 3", "new 4"]

    async def test_a_long_history_lets_other_tasks_run_while_it_is_read(
        self, person: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = await create_session(person)
        expected = [str(number) for number in range(11)]
        await append_in_another_process(session, *expected)
        monkeypatch.setattr(event_log, "PAGE_EVENTS", 4)
        monkeypatch.setattr(history_cache, "SLICE_EVENTS", 3)
        read, slices, added, add = 0, [0], [0], History.add

        def note_added(history: History, after: int, bodies: list[str]) -> int:
            added.append(len(bodies))
            return add(history, after, bodies)

        def count(body: str) -> Event:
            nonlocal read
            read += 1
            return event_from_json(body)

        async def note_slices() -> None:
            while True:
                slices.append(read)
                await asyncio.sleep(0)

        monkeypatch.setattr(history_cache, "event_from_json", count)
        monkeypatch.setattr(History, "add", note_added)
        other_task = asyncio.create_task(note_slices())
        extended = await load_session(session)
        history_cache.cache.forget((APP, session.user_id, session.id))
        loaded = await load_session(session)
        other_task.cancel()
        assert texts(extended) == texts(loaded) == expected
        assert max(later - earlier for earlier, later in pairwise(slices)) == 3
        assert max(added) == 3, "a long history is not added at once"

    async def test_the_next_page_of_a_history_is_on_its_way_while_one_is_read(
        self, person: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = await create_session(person)
        await append_in_another_process(session, *"abcde")
        monkeypatch.setattr(event_log, "PAGE_EVENTS", 2)
        asked, read = asyncio.Event(), event_log.events_after

        async def note(*args: Any) -> list[tuple[int, str]]:
            asked.set()
            return await read(*args)

        monkeypatch.setattr(event_log, "events_after", note)
        loaded = await event_log.load((APP, person.pk, session.id))
        assert loaded is not None and (loaded.count, len(loaded.events)) == (5, 2)
        lengths = []
        async for page in event_log.pages(loaded):
            lengths.append(len(page))
            if len(lengths) < 3:
                await asyncio.wait_for(asked.wait(), 5)
            asked.clear()
        assert lengths == [2, 2, 1]

    @pytest.mark.parametrize("config", [None, GetSessionConfig(num_recent_events=4)])
    async def test_a_session_that_is_deleted_while_it_is_read_is_not_found(
        self, person: User, monkeypatch: pytest.MonkeyPatch, config: GetSessionConfig | None
    ) -> None:
        session = await create_session(person)
        await append_in_another_process(session, *"abcde")
        history_cache.cache.forget((APP, session.user_id, session.id))
        monkeypatch.setattr(event_log, "PAGE_EVENTS", 2)

        async def find_nothing(*args: Any) -> list[tuple[int, str]]:
            return []

        monkeypatch.setattr(event_log, "events_after", find_nothing)
        name = {"app_name": APP, "user_id": session.user_id, "session_id": session.id}
        assert await DjangoSessionService().get_session(**name, config=config) is None
        assert history_cache.cache.get((APP, session.user_id, session.id)) is None

    def test_the_least_recently_used_history_is_evicted_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sessions_app.store.history_cache.conf", lambda: conf.Conf(cached_bytes=60_000))
        cache = HistoryCache()
        for name in "ab":
            cache.keep((APP, "1", name), _history(name, "x" * 10_000, "y" * 10_000))
        cache.get((APP, "1", "a"))
        cache.keep((APP, "1", "c"), _history("c", "z" * 10_000))
        assert [cache.get((APP, "1", name)) is None for name in "abc"] == [False, True, False]

    def test_a_history_that_alone_is_larger_than_the_cache_is_not_kept_and_drops_no_other(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sessions_app.store.history_cache.conf", lambda: conf.Conf(cached_bytes=60_000))
        cache, name = HistoryCache(), (APP, "1", "a")
        cache.keep((APP, "1", "b"), _history("b", "z"))
        cache.keep(name, _history("a", "x" * 40_000))
        assert cache.get(name) is not None
        cache.extend(name, _uuid("a"), 1, _stored("y" * 40_000))
        assert cache.get(name) is None and cache.get((APP, "1", "b")) is not None

    def test_a_history_with_a_gap_is_not_extended(self) -> None:
        cache, name = HistoryCache(), (APP, "1", "a")
        history = _history("a", "1")
        cache.keep(name, history)
        cache.extend(name, _uuid("a"), 2, _stored("3"))
        assert len(history.events) == 1
        cache.extend(name, _uuid("a"), 0, _stored("1", "2", "3"))
        assert [event.text() for event in history.events] == ["1", "2", "3"]
        cache.extend(name, _uuid("b"), 3, _stored("4"))
        assert cache.get(name) is None


class TestCommits:
    """Notifications and jobs that belong to a commit."""

    async def test_on_commit_gets_the_stored_event(self, person: User) -> None:
        commits: list[CommittedEvent] = []
        session = await create_session(person)
        service = DjangoSessionService(Writer(on_commit=commits.append))
        event = await service.append_event(session, text_event("a"))
        fragment = text_event("fragment")
        fragment.partial = True
        await service.append_event(session, fragment)
        [committed] = commits
        assert (committed.session_id, committed.seq, committed.event) == (
            (await session_row(session)).pk,
            1,
            event,
        )
        row = await models.Event.objects.aget(session_id=committed.session_id)
        assert Event.model_validate_json(committed.body) == Event.model_validate(row.body) == event

    async def test_a_staged_job_is_created_with_the_event_that_answers_its_call(self, person: User) -> None:
        session = await create_session(person)
        service = DjangoSessionService(Writer(staged_jobs=take_staged_jobs))
        with staging():
            stage_job(_job("c1"))
            stage_job(_job("c2"))
            await service.append_event(session, text_event("about something else"))
            assert not await models.ToolJob.objects.aexists()
            await service.append_event(session, _response("c1"))
        with staging():
            await service.append_event(session, _response("c2"))
        assert [job.call_id async for job in models.ToolJob.objects.all()] == ["c1"]

    async def test_the_initial_state_is_kept(self, person: User) -> None:
        """An audit applies the state deltas to the initial state."""
        session = await create_session(person, state={"a": 1})
        await DjangoSessionService().append_event(session, text_event("x", a=2))
        row = await session_row(session)
        assert (row.initial_state, row.state) == ({"a": 1}, {"a": 2})


class TestFiles:
    """Files of artifacts (contract F1)."""

    @pytest.mark.parametrize("filename", ["../../evil.txt", "user:report.pdf"])
    async def test_the_name_of_an_artifact_never_reaches_the_file_system(
        self, person: User, filename: str
    ) -> None:
        session = await create_session(person)
        owner = key_of(session)
        await DjangoArtifactService().save_artifact(**owner, filename=filename, artifact=types.Part(text="x"))
        row = await models.Artifact.objects.aget()
        assert row.file.name is not None
        assert "evil" not in row.file.name and "report" not in row.file.name and ".." not in row.file.name
        path = Path(row.file.path)
        assert path.read_bytes() == b"x"
        assert path.is_relative_to(Path(settings.MEDIA_ROOT))
        assert (row.size, len(row.sha256), row.filename) == (1, 64, filename)

    async def test_deleting_an_artifact_deletes_its_bytes(self, person: User) -> None:
        session = await create_session(person)
        owner = key_of(session)
        await DjangoArtifactService().save_artifact(**owner, filename="a", artifact=types.Part(text="x"))
        path = Path((await models.Artifact.objects.aget()).file.path)
        await DjangoArtifactService().delete_artifact(**owner, filename="a")
        assert not path.exists()
        assert not await models.Artifact.objects.aexists()

    async def test_deleting_a_session_or_a_user_deletes_their_files(self, person: User) -> None:
        session = await create_session(person)
        owner = key_of(session)
        for name in ("a", "user:b"):
            await DjangoArtifactService().save_artifact(**owner, filename=name, artifact=types.Part(text="x"))
        of_session, of_user = [
            Path(row.file.path) async for row in models.Artifact.objects.order_by("filename")
        ]
        await DjangoSessionService().delete_session(**owner)
        assert (of_session.exists(), of_user.exists()) == (False, True)
        await tamper_async(person.delete)
        assert not of_user.exists()

    async def test_a_rolled_back_deletion_keeps_the_files(self, person: User) -> None:
        def delete_and_roll_back() -> None:
            with transaction.atomic():
                models.Session.objects.all().delete()
                raise LookupError("roll back")

        session = await create_session(person)
        owner = key_of(session)
        await DjangoArtifactService().save_artifact(**owner, filename="a", artifact=types.Part(text="x"))
        with pytest.raises(LookupError):
            await in_thread(delete_and_roll_back)
        assert await DjangoArtifactService().load_artifact(**owner, filename="a") == types.Part(text="x")

    @pytest.mark.parametrize("filename", ["nul\0", "half\ud800", "x" * 1025])
    async def test_a_name_that_cannot_be_stored_is_refused_with_a_sentence(
        self, person: User, filename: str
    ) -> None:
        session = await create_session(person)
        owner = key_of(session)
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
        await create_session(person, session_id=session_id)


def _uuid(name: str) -> UUID:
    return UUID(int=ord(name))


def _stored(*texts: str) -> list[str]:
    return [event_to_json(text_event(text)) for text in texts]


def _history(name: str, *texts: str) -> History:
    history = History(_uuid(name))
    history.add(0, _stored(*texts))
    return history


def _job(call_id: str) -> StagedJob:
    return StagedJob(
        id=uuid4(),
        invocation_id="e-1",
        call_id=call_id,
        tool_name="write_report",
        task_name="reports.write",
        agent_name="clerk",
        args={},
    )


def _response(call_id: str) -> Event:
    response = types.FunctionResponse(id=call_id, name="write_report", response={"status": "pending"})
    part = types.Part(function_response=response)
    return Event(author="clerk", invocation_id="e-1", content=types.Content(role="user", parts=[part]))
