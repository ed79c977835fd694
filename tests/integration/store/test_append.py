"""Contract: an append is one atomic SQL statement, also among concurrent writers (contract S3, S7)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg import AsyncConnection
from pydantic_core import PydanticSerializationError

from runtime import types
from runtime.errors import StateValueError
from runtime.events import Event
from sessions_app import models
from sessions_app.errors import StateChangedError
from sessions_app.process.pool import close_pool
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoSessionService
from sessions_app.store.session_service import Writer
from sessions_app.store.sql.event_rows import StagedJob
from tests.integration.locks import blocked, held
from tests.integration.session_helpers import (
    create_session,
    delta_event,
    event_rows,
    key_of,
    load_session,
    run_on_two_loops,
    session_row,
    shared_state,
    text_event,
    texts,
)

pytestmark = pytest.mark.usefixtures("loop_end")


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record every SQL statement that the pool or the ORM sends."""
    sent: list[str] = []
    execute_in_pool, execute_in_orm = AsyncConnection.execute, CursorWrapper.execute

    async def record_pool(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        sent.append(str(query))
        return await execute_in_pool(self, query, *args, **kwargs)

    def record_orm(self: Any, sql: Any, params: Any = None) -> Any:
        sent.append(str(sql))
        return execute_in_orm(self, sql, params)

    monkeypatch.setattr(AsyncConnection, "execute", record_pool)
    monkeypatch.setattr(CursorWrapper, "execute", record_orm)
    return sent


def _updates_of_sessions() -> tuple[int, int]:
    """Return the number of updates of sessions so far, and of those that wrote to no index."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'sessions_app_session'"
        )
        return cursor.fetchone()  # type: ignore[no-any-return]


class TestStatements:
    """Each operation of the hot path is one SQL statement."""

    @pytest.mark.parametrize(
        "delta", [{}, {"a": 1}, {"user:a": 1}, {"app:a": 1}, {"a": 1, "user:a": 1, "app:a": 1}]
    )
    async def test_an_append_is_one_statement(
        self, person: User, statements: list[str], delta: dict[str, Any]
    ) -> None:
        session = await create_session(person)
        await DjangoSessionService().append_event(session, text_event("warm up"))
        statements.clear()
        await DjangoSessionService().append_event(session, text_event("x", **delta))
        assert len(statements) == 1

    async def test_appends_change_the_row_of_the_session_in_place(self, person: User) -> None:
        session = await create_session(person)
        await DjangoSessionService().append_event(session, text_event("warm up"))
        await close_pool()  # PostgreSQL counts the updates of a connection when it closes
        updates, in_place = await in_thread(_updates_of_sessions)
        for number in range(10):
            await DjangoSessionService().append_event(session, text_event("x", n=number))
        await close_pool()
        async with asyncio.timeout(20):
            while (counted := await in_thread(_updates_of_sessions))[0] < updates + 10:
                await asyncio.sleep(0.02)
        assert counted[1] - in_place >= 9  # a full page moves one row

    async def test_a_job_is_created_by_the_statement_that_appends_its_event(
        self, person: User, statements: list[str]
    ) -> None:
        session = await create_session(person)
        job = StagedJob(
            id=uuid4(),
            invocation_id="e-1",
            call_id="c1",
            tool_name="write_report",
            task_name="reports.write",
            agent_name="clerk",
            args={"topic": "tea"},
            run_at=datetime(2026, 11, 21, 9, tzinfo=UTC),
        )
        statements.clear()
        service = DjangoSessionService(Writer(staged_jobs=lambda event: [job]))
        await service.append_event(session, text_event("x", n=1))
        assert len(statements) == 1
        stored = await models.ToolJob.objects.aget(pk=job.id)
        assert stored.session_id == (await session_row(session)).pk
        assert (stored.args, stored.run_at, stored.status) == ({"topic": "tea"}, job.run_at, "queued")

    async def test_loading_new_events_is_one_statement(self, person: User, statements: list[str]) -> None:
        session = await create_session(person)
        await DjangoSessionService().append_event(session, text_event("x"))
        statements.clear()
        assert await load_session(session) == session
        assert len(statements) == 1


class TestLog:
    """Rows that an append writes."""

    async def test_an_event_row_keeps_the_previous_values_of_all_scopes(self, person: User) -> None:
        session = await create_session(person)
        service = DjangoSessionService()
        await service.append_event(session, delta_event(**{"a": 1, "user:a": [2], "app:a": None}))
        await service.append_event(session, text_event("no change"))
        await service.append_event(session, delta_event(**{"a": 5, "user:a": 6, "app:a": 7, "user:b": 8}))
        await service.append_event(session, delta_event(**{"temp:only": 1}))
        assert [event.before for event in await event_rows(session)] == [
            {},
            None,
            {"a": 1, "user:a": [2], "app:a": None},
            None,
        ]

    async def test_the_previous_value_includes_an_uncommitted_first_value_of_another_session(
        self, person: User
    ) -> None:
        session = await create_session(person)
        writes = "INSERT INTO sessions_app_appstate (app_name, state) VALUES ('shop', '{\"a\": 1}') "
        async with held(writes + "ON CONFLICT (app_name) DO UPDATE SET state = EXCLUDED.state"):
            append = DjangoSessionService().append_event(session, delta_event(**{"app:a": 2}))
            appending = asyncio.create_task(append)
            await blocked(1)
        await appending
        assert [event.before for event in await event_rows(session)] == [{"app:a": 1}]

    async def test_the_previous_value_includes_writes_of_other_sessions(self, person: User) -> None:
        session, other = await create_session(person), await create_session(person)
        await DjangoSessionService().append_event(other, delta_event(**{"user:a": "theirs", "a": "theirs"}))
        await DjangoSessionService().append_event(session, delta_event(**{"user:a": "mine", "a": "mine"}))
        assert [event.before for event in await event_rows(session)] == [{"user:a": "theirs"}]

    async def test_a_nul_in_text_becomes_a_replacement_character(self, person: User) -> None:
        """PostgreSQL rejects NUL, which must not fail the invocation; a backslash before it stays."""
        session = await create_session(person)
        part = types.Part(
            function_response=types.FunctionResponse(name="read", id="c1", response={"a\0b": "\\\0\0\\u0000"})
        )
        event = Event(author="clerk", content=types.Content(role="user", parts=[part]))
        await DjangoSessionService().append_event(session, event)
        [row] = await event_rows(session)
        stored = row.body["content"]["parts"][0]["functionResponse"]["response"]
        assert stored == {"a\ufffdb": "\\\ufffd\ufffd\\u0000"}

    async def test_half_a_surrogate_pair_becomes_a_replacement_character(self, person: User) -> None:
        """A model's text that ends within a character must not fail the invocation."""
        session = await create_session(person)
        call = types.FunctionCall(name="read", id="c1", args={"path": "a\udc00b"})
        event = text_event("x\ud800y \ud83d\ude00 \0")
        assert event.content is not None and event.content.parts
        event.content.parts.append(types.Part(function_call=call))
        await DjangoSessionService().append_event(session, event)
        text, stored_call = (await event_rows(session))[0].body["content"]["parts"]
        assert text["text"] == "x\ufffdy \U0001f600 \ufffd"
        assert stored_call["functionCall"]["args"] == {"path": "a\ufffdb"}
        assert texts(await load_session(session)) == [text["text"]]

    async def test_an_event_with_an_unserializable_value_writes_nothing(self, person: User) -> None:
        """A failed append is rolled back completely (contract S7, S8)."""
        session = await create_session(person)
        with pytest.raises(StateValueError, match="'b'"):
            await DjangoSessionService().append_event(session, text_event("x", a=1, b=object()))
        assert (await event_rows(session), (await session_row(session)).last_seq) == ([], 0)

    async def test_an_event_that_could_not_be_read_again_writes_nothing(self, person: User) -> None:
        """Fields that are set later are not checked by pydantic. Such an event would cost the whole session."""
        session = await create_session(person)
        event = text_event("x")
        event.actions.route = {"a": 1}  # type: ignore[assignment]
        with pytest.raises(PydanticSerializationError, match="route"):
            await DjangoSessionService().append_event(session, event)
        assert await event_rows(session) == []

    async def test_the_columns_of_an_event_are_derived_from_its_json(self, person: User) -> None:
        session = await create_session(person)
        event = Event(
            author="clerk",
            invocation_id="e-7",
            content=types.Content(
                role="model",
                parts=[
                    types.Part(text="hm", thought=True),
                    types.Part(text="Hel"),
                    types.Part(text="lo"),
                ],
            ),
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=3, candidates_token_count=4
            ),
        )
        await DjangoSessionService().append_event(session, event)
        [row] = await event_rows(session)
        assert (row.event_id, row.author, row.invocation_id) == (event.id, "clerk", "e-7")
        assert (row.kind, row.text) == ("message", "Hello")
        assert (row.prompt_tokens, row.output_tokens) == (3, 4)
        assert row.happened_at is not None and row.happened_at.timestamp() == event.timestamp


class TestManyWriters:
    """Concurrent writers."""

    async def test_sequences_stay_dense_and_all_writers_see_one_order(self, person: User) -> None:
        session = await create_session(person)

        async def write(name: str) -> None:
            mine = await load_session(session)
            for number in range(5):
                await DjangoSessionService().append_event(
                    mine, text_event(f"{name}{number}", **{f"{name}{number}": 1})
                )
            order = [event.text for event in await event_rows(session)]
            assert [event.text() for event in mine.events] == order[: mine.last_seq]

        await run_on_two_loops(
            *(lambda loop=loop, w=w: write(f"{loop}.{w}.") for loop in range(2) for w in range(5))
        )
        rows = await event_rows(session)
        assert [row.seq for row in rows] == list(range(1, 51))
        assert (await session_row(session)).last_seq == 50
        assert len((await session_row(session)).state) == 50

    async def test_no_concurrent_change_of_shared_state_is_lost(self, person: User) -> None:
        async def write(name: str) -> None:
            mine = await create_session(person)
            for number in range(5):
                key = f"{name}{number}"
                await DjangoSessionService().append_event(
                    mine, delta_event(**{f"user:{key}": 1, f"app:{key}": 1})
                )

        await run_on_two_loops(
            *(lambda loop=loop, w=w: write(f"{loop}.{w}.") for loop in range(2) for w in range(4))
        )
        keys = [f"{loop}.{w}.{n}" for loop in range(2) for w in range(4) for n in range(5)]
        expected = {f"{scope}:{key}": 1 for key in keys for scope in ("user", "app")}
        assert await shared_state(person) == expected

    @pytest.mark.parametrize("user_state", [{}, {"user:a": 1}], ids=["new", "known"])
    async def test_a_session_is_created_while_another_writes_the_same_scopes(
        self, person: User, user_state: dict[str, Any]
    ) -> None:
        """No deadlock: all writers lock the user state before the app state, also if the user has no row yet."""
        both = {"user:b": 2, "app:b": 2}
        session = await create_session(person, {"app:a": 1, **user_state})
        async with held("SELECT FROM sessions_app_appstate FOR UPDATE"):
            append = asyncio.create_task(DjangoSessionService().append_event(session, delta_event(**both)))
            await blocked(1)
            create = asyncio.create_task(create_session(person, both))
            await blocked(2)
        await asyncio.gather(append, create)
        assert await shared_state(person) == {"app:a": 1, **user_state, **both}

    @pytest.mark.parametrize("seen", [{}, {"user:b": "other"}], ids=["as seen", "changed"])
    async def test_a_first_value_of_a_user_is_corrected_while_another_session_writes_it(
        self, person: User, seen: dict[str, str]
    ) -> None:
        """No deadlock: a conditional append locks the user state before the app state, too."""
        both = {"user:b": 2, "app:b": 2}
        session, other = await create_session(person, {"app:a": 1}), await create_session(person)
        await models.UserState.objects.all().adelete()
        correct = DjangoSessionService(Writer(expected=seen)).append_event(session, delta_event(**both))
        async with held("SELECT FROM sessions_app_appstate FOR UPDATE"):
            correcting = asyncio.create_task(correct)
            await blocked(1)
            appending = asyncio.create_task(DjangoSessionService().append_event(other, delta_event(**both)))
            await blocked(2)
        refused, written = await asyncio.gather(correcting, appending, return_exceptions=True)
        assert isinstance(refused, StateChangedError if seen else Event), refused
        assert isinstance(written, Event), written
        assert await shared_state(person) == {"app:a": 1, **both}

    async def test_a_refused_correction_leaves_no_state_of_the_user(self, person: User) -> None:
        session = await create_session(person)
        await models.UserState.objects.all().adelete()
        service = DjangoSessionService(Writer(expected={"user:b": "other"}))
        with pytest.raises(StateChangedError):
            await service.append_event(session, delta_event(**{"user:b": 2, "app:b": 2}))
        assert not await models.UserState.objects.aexists()

    async def test_a_session_is_deleted_while_another_writes(self, person: User) -> None:
        """No deadlock, and the deletion includes the events that were appended before it."""
        session = await create_session(person)
        key = key_of(session)
        async with held("SELECT FROM sessions_app_session FOR UPDATE"):
            append = asyncio.create_task(DjangoSessionService().append_event(session, text_event("x")))
            await blocked(1)
            delete = asyncio.create_task(DjangoSessionService().delete_session(**key))
            await blocked(2)
        await asyncio.gather(append, delete)
        assert not await models.Event.objects.aexists()
        assert await DjangoSessionService().get_session(**key) is None


@pytest.mark.django_db
def test_the_functions_of_generated_columns_keep_their_plans() -> None:
    # PostgreSQL parses and inlines a function in SQL anew for each INSERT.
    with connection.cursor() as cursor:
        cursor.execute("""
            SELECT p.proname, l.lanname FROM pg_attrdef d
            JOIN pg_depend f ON f.classid = 'pg_attrdef'::regclass AND f.objid = d.oid
                AND f.refclassid = 'pg_proc'::regclass
            JOIN pg_proc p ON p.oid = f.refobjid JOIN pg_language l ON l.oid = p.prolang
            WHERE d.adrelid = 'sessions_app_event'::regclass
        """)
        languages = dict(cursor.fetchall())
    assert "adk_event_text" in languages
    assert set(languages.values()) == {"plpgsql"}
