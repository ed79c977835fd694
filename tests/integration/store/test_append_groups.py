"""Group commit: concurrent appends that change the same app's state share transactions (contract S3, S7)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from runtime.events import Event
from runtime.sessions import Session
from sessions_app import models
from sessions_app.errors import StaleLeaseError
from sessions_app.history.evidence.integrity import flaw_in
from sessions_app.process.pool import fetch_all
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoSessionService
from sessions_app.store.session_service import Writer
from sessions_app.store.sql import append_groups
from sessions_app.store.sql.event_rows import StagedJob
from tests.integration.locks import blocked, held
from tests.integration.session_helpers import (
    APP,
    create_session,
    delta_event,
    event_rows,
    load_session,
    run_on_two_loops,
    session_row,
)

pytestmark = pytest.mark.usefixtures("loop_end", "patience")

HOT_ROW = "SELECT FROM sessions_app_appstate FOR UPDATE"
Append = Coroutine[Any, Any, Event]


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let groups wait for the app's state, also on a busy machine."""
    monkeypatch.setattr(append_groups, "MAX_LOCK_SECONDS", 5)


def append(session: Session, value: str, **service: Any) -> Append:
    """Return an append that writes the value to a key of each scope."""
    delta = {"last": value, "user:last": value, "app:last": value}
    return DjangoSessionService(Writer(**service)).append_event(session, delta_event(**delta))


async def started(*appends: Append) -> list[asyncio.Task[Event]]:
    """Start appends while the app's state is locked: the first is executed, and the others wait for a group."""
    first = asyncio.create_task(appends[0])
    await blocked(1)
    tasks = [first, *map(asyncio.create_task, appends[1:])]
    await asyncio.sleep(0)
    return tasks


@asynccontextmanager
async def sent(*appends: Append) -> AsyncIterator[list[asyncio.Task[Event]]]:
    """Let a group of the appends wait for the app's state, which is locked for the block."""
    session = await create_session(await in_thread(get_user_model().objects.create_user, "first"))
    async with held(HOT_ROW):
        first, *members = await started(append(session, "never"), *appends)
        first.cancel()
        await asyncio.wait([first])
        await blocked(1)
        yield members


async def create_sessions(person: User, count: int) -> list[Session]:
    return [await create_session(person) for _ in range(count)]


async def transactions() -> int:
    """Return the number of transactions that have written the events."""
    [row] = await fetch_all("SELECT count(DISTINCT xmin::text) AS transactions FROM sessions_app_event", {})
    return int(row["transactions"])


async def values_in_order() -> list[str]:
    """Return the values of the app's key from the first to the current one, by the events' previous values.

    No log has a flaw.
    """
    after: dict[str | None, str] = {}
    async for event in models.Event.objects.all():
        assert event.before is not None
        before = event.before.get("app:last")
        assert before not in after
        after[before] = event.body["actions"]["stateDelta"]["app:last"]
    values, value = [], after.pop(None, None)
    while value is not None:
        values.append(value)
        value = after.pop(value, None)
    assert not after
    assert values[-1] == (await models.AppState.objects.aget(app_name=APP)).state["last"]
    async for session in models.Session.objects.all():
        assert await in_thread(flaw_in, session.pk) is None
    return values


async def test_appends_that_wait_share_a_transaction(person: User) -> None:
    sessions = await create_sessions(person, 20)
    writers = [*sessions, *[await load_session(session) for session in sessions]]
    async with held(HOT_ROW):
        tasks = await started(*(append(session, str(number)) for number, session in enumerate(writers)))
    await asyncio.gather(*tasks)
    assert await values_in_order() == [str(number) for number in range(40)]
    assert await transactions() == 3  # the first append, a group of 32, and the rest
    assert [event.seq for event in await event_rows(sessions[0])] == [1, 2]


async def test_sessions_on_two_loops_write_the_same_key(person: User) -> None:
    async def write(name: str) -> None:
        session = await create_session(person)
        for number in range(5):
            await append(session, f"{name}.{number}")

    await run_on_two_loops(*(lambda name=name: write(name) for name in map(str, range(20))))
    values = await values_in_order()
    assert sorted(values) == sorted(f"{name}.{number}" for name in range(20) for number in range(5))
    assert await transactions() < 100


async def test_a_refused_append_does_not_disturb_its_group(person: User) -> None:
    first, stale, last = await create_sessions(person, 3)
    async with held(HOT_ROW):
        tasks = await started(append(first, "1"), append(stale, "2", lease_token=7), append(last, "3"))
    _, refused, _ = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(refused, StaleLeaseError)
    assert await values_in_order() == ["1", "3"]
    assert await event_rows(stale) == []


@pytest.mark.parametrize("session_id", [None, "\0"], ids=["in PostgreSQL", "before it is sent"])
async def test_an_append_that_fails_fails_alone(person: User, session_id: str | None) -> None:
    first, second, bad, last = await create_sessions(person, 4)
    named = bad.model_copy(update={"id": session_id or bad.id})
    job = StagedJob(uuid4(), "e-1", "c1", "write_report", "reports.write", "clerk", {})
    await append(first, "0", staged_jobs=lambda event: [job])
    async with held(HOT_ROW):
        failing = append(named, "3", staged_jobs=lambda event: [job])
        tasks = await started(append(first, "1"), append(second, "2"), failing, append(last, "4"))
    *_, failed, _ = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(failed, psycopg.IntegrityError | psycopg.DataError)
    assert sorted(await values_in_order()) == ["0", "1", "2", "4"]
    assert await event_rows(bad) == []


async def test_an_append_that_is_cancelled_while_it_waits_writes_nothing(person: User) -> None:
    first, cancelled, last = await create_sessions(person, 3)
    async with held(HOT_ROW):
        tasks = await started(append(first, "1"), append(cancelled, "2"), append(last, "3"))
        tasks[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[1]
    await asyncio.gather(tasks[0], tasks[2])
    assert await values_in_order() == ["1", "3"]


async def test_an_append_that_is_cancelled_in_a_group_ends_with_the_group(person: User) -> None:
    """A Stop reads the log afterwards, and must find what was committed."""
    cancelled, other = await create_sessions(person, 2)
    async with sent(append(cancelled, "1"), append(other, "2")) as tasks:
        tasks[0].cancel()
        await blocked(1)
        assert not tasks[0].done()
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    assert len(await event_rows(cancelled)) == 1
    await tasks[1]
    assert await values_in_order() == ["1", "2"]


@pytest.mark.parametrize("table", ["session", "userstate"])
async def test_a_locked_row_holds_up_only_its_own_append(person: User, table: str) -> None:
    """No deadlock: the transaction that has locked the row takes the app's state, too."""
    other = await in_thread(get_user_model().objects.create_user, "other")
    locked, first, second, last = await create_session(other), *await create_sessions(person, 3)
    lock = f"SELECT FROM sessions_app_{table} WHERE user_id = {other.pk} FOR UPDATE"
    async with held(lock) as connection:
        async with held(HOT_ROW):
            waiting, *tasks = await started(
                append(first, "1"), append(second, "2"), append(locked, "4"), append(last, "3")
            )
        await asyncio.gather(waiting, tasks[0], tasks[2])
        await blocked(1)
        await connection.execute(HOT_ROW)
    await tasks[1]
    assert await values_in_order() == ["1", "2", "3", "4"]
    assert await transactions() == 3


async def test_an_append_to_a_locked_session_holds_up_no_other(person: User) -> None:
    locked, other = await create_sessions(person, 2)
    row = await session_row(locked)
    async with held(f"SELECT FROM sessions_app_session WHERE id = '{row.pk}' FOR UPDATE"):
        [waiting] = await started(append(locked, "2"))
        await append(other, "1")
    await waiting
    assert await values_in_order() == ["1", "2"]


async def test_a_lost_connection_fails_each_append_of_its_group(person: User) -> None:
    """PostgreSQL may have committed them: they are not repeated."""
    sessions = await create_sessions(person, 3)
    async with sent(*(append(session, "1") for session in sessions)) as tasks:
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        await fetch_all(end, {})
        for failed in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(failed, psycopg.OperationalError)
    await append(sessions[0], "2")
    assert await values_in_order() == ["2"]


async def test_a_group_that_waits_too_long_is_executed_one_by_one(
    person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No deadlock, and Stop does not wait long: an append alone ends when its task is cancelled."""
    monkeypatch.setattr(append_groups, "MAX_LOCK_SECONDS", 0.1)
    stopped, other, last = await create_sessions(person, 3)
    async with sent(append(stopped, "1"), append(other, "2"), append(last, "3")) as tasks:
        await blocked(3)
        tasks[0].cancel()
        await asyncio.wait([tasks[0]])
        assert await event_rows(stopped) == []
    await asyncio.gather(*tasks[1:])
    assert sorted(await values_in_order()) == ["2", "3"]


async def test_a_person_whose_row_of_state_is_missing_gets_one(person: User) -> None:
    [session] = await create_sessions(person, 1)
    await models.UserState.objects.all().adelete()
    await append(session, "1")
    assert (await models.UserState.objects.aget(user=person)).state == {"last": "1"}
    assert await values_in_order() == ["1"]
