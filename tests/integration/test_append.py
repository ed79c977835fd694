"""The append and the lease on PostgreSQL (design.md, "PostgreSQL is the truth", "One writer per session"; S3, S7)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db.backends.utils import CursorWrapper
from django.utils import timezone
from psycopg import AsyncConnection

from runtime import types
from runtime.errors import StateValueError
from runtime.events import Event, EventActions
from runtime.sessions import Session
from sessions_app import models
from sessions_app.db import invocation_queue, leases
from sessions_app.db.leases import Claim
from sessions_app.errors import StaleLeaseError
from sessions_app.services import DjangoSessionService
from sessions_app.shutdown import shut_down
from tests.fakes import text_content
from tests.integration.locks import blocked, held

pytestmark = pytest.mark.usefixtures("loop_end")
APP = "shop"
MESSAGE = {"role": "user", "parts": [{"text": "hello"}]}


def said(text: str, **delta: Any) -> Event:
    return Event(author="clerk", content=text_content(text), actions=EventActions(state_delta=delta))


def texts(session: Session) -> list[str]:
    return [event.text() for event in session.events]


def changed(**delta: Any) -> Event:
    return Event(author="clerk", actions=EventActions(state_delta=delta))


async def opened(person: User, state: dict[str, Any] | None = None) -> Session:
    return await DjangoSessionService().create_session(app_name=APP, user_id=str(person.pk), state=state)


async def loaded(session: Session) -> Session:
    found = await DjangoSessionService().get_session(
        app_name=APP, user_id=session.user_id, session_id=session.id
    )
    assert found is not None
    return found


async def row_of(session: Session) -> models.Session:
    return await models.Session.objects.aget(app_name=APP, user_id=session.user_id, key=session.id)


async def log(session: Session) -> list[models.Event]:
    return [event async for event in (await row_of(session)).events.order_by("seq")]


async def state_of_the_user(person: User) -> dict[str, Any]:
    """The state that the user's sessions share, the app's among it."""
    return (await opened(person)).state


async def enqueued(session: Session, client_id: str = "m1", invocation_id: str = "e-1") -> UUID:
    """The session's primary key; a message is queued in it."""
    pk = (await row_of(session)).pk
    await invocation_queue.enqueue(
        pk, user_id=int(session.user_id), invocation_id=invocation_id, client_id=client_id, message=MESSAGE
    )
    return pk


async def claimed(session: Session, owner: str = "one") -> Claim:
    """A lease on the session, for a message that was queued."""
    claim = await leases.claim_next(await enqueued(session), owner=owner, lease_seconds=60)
    assert claim is not None
    return claim


async def expire(claim: Claim) -> None:
    """As if the owner had been gone for a while."""
    past = timezone.now() - timedelta(seconds=1)
    await models.Session.objects.filter(pk=claim.session_id).aupdate(lease_expires_at=past)


async def taken_over(claim: Claim, owner: str = "two") -> Claim:
    await expire(claim)
    assert await leases.take_back_expired() == [claim.session_id]
    later = await leases.claim_next(claim.session_id, owner=owner, lease_seconds=60)
    assert later is not None
    return later


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that is sent to PostgreSQL, by the pool or by the ORM."""
    sent: list[str] = []
    on_pool, by_orm = AsyncConnection.execute, CursorWrapper.execute

    async def counted(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        sent.append(str(query))
        return await on_pool(self, query, *args, **kwargs)

    def counted_too(self: Any, sql: Any, params: Any = None) -> Any:
        sent.append(str(sql))
        return by_orm(self, sql, params)

    monkeypatch.setattr(AsyncConnection, "execute", counted)
    monkeypatch.setattr(CursorWrapper, "execute", counted_too)
    return sent


class TestStatements:
    """One statement for each operation of the hot path."""

    @pytest.mark.parametrize(
        "delta", [{}, {"a": 1}, {"user:a": 1}, {"app:a": 1}, {"a": 1, "user:a": 1, "app:a": 1}]
    )
    async def test_an_append_is_one_statement(
        self, person: User, statements: list[str], delta: dict[str, Any]
    ) -> None:
        session = await opened(person)
        await DjangoSessionService().append_event(session, said("warm up"))
        statements.clear()
        await DjangoSessionService().append_event(session, said("x", **delta))
        assert len(statements) == 1

    async def test_a_job_is_created_by_the_statement_of_its_event(
        self, person: User, statements: list[str]
    ) -> None:
        session = await opened(person)
        job = {
            "id": "0c5d0b3e-0000-4000-8000-000000000001",
            "invocation_id": "e-1",
            "call_id": "c1",
            "tool_name": "write_report",
            "task_name": "reports.write",
            "agent_name": "clerk",
            "args": {"topic": "tea"},
        }
        statements.clear()
        service = DjangoSessionService(staged_jobs=lambda event: [job])
        await service.append_event(session, said("x", n=1))
        assert len(statements) == 1
        stored = await models.ToolJob.objects.aget(pk=job["id"])
        assert (stored.session_id, stored.args, stored.status) == (
            (await row_of(session)).pk,
            {"topic": "tea"},
            "queued",
        )

    async def test_loading_what_is_new_is_one_statement(self, person: User, statements: list[str]) -> None:
        session = await opened(person)
        await DjangoSessionService().append_event(session, said("x"))
        statements.clear()
        assert await loaded(session) == session
        assert len(statements) == 1


class TestLog:
    """What an append leaves in the tables."""

    async def test_the_state_before_a_change_is_kept_for_all_scopes(self, person: User) -> None:
        session = await opened(person)
        service = DjangoSessionService()
        await service.append_event(session, changed(**{"a": 1, "user:a": [2], "app:a": None}))
        await service.append_event(session, said("no change"))
        await service.append_event(session, changed(**{"a": 5, "user:a": 6, "app:a": 7, "user:b": 8}))
        await service.append_event(session, changed(**{"temp:only": 1}))
        assert [event.before for event in await log(session)] == [
            {},
            None,
            {"a": 1, "user:a": [2], "app:a": None},
            None,
        ]

    async def test_what_another_session_is_just_writing_is_found_also_as_the_first_value(
        self, person: User
    ) -> None:
        session = await opened(person)
        writes = "INSERT INTO sessions_app_appstate (app_name, state) VALUES ('shop', '{\"a\": 1}') "
        async with held(writes + "ON CONFLICT (app_name) DO UPDATE SET state = EXCLUDED.state"):
            append = DjangoSessionService().append_event(session, changed(**{"app:a": 2}))
            appending = asyncio.create_task(append)
            await blocked(1)
        await appending
        assert [event.before for event in await log(session)] == [{"app:a": 1}]

    async def test_the_state_before_includes_what_other_sessions_wrote(self, person: User) -> None:
        session, other = await opened(person), await opened(person)
        await DjangoSessionService().append_event(other, changed(**{"user:a": "theirs", "a": "theirs"}))
        await DjangoSessionService().append_event(session, changed(**{"user:a": "mine", "a": "mine"}))
        assert [event.before for event in await log(session)] == [{"user:a": "theirs"}]

    async def test_a_nul_in_text_becomes_a_replacement_character(self, person: User) -> None:
        """What PostgreSQL cannot hold does not lose the turn; a backslash before it stays."""
        session = await opened(person)
        part = types.Part(
            function_response=types.FunctionResponse(name="read", id="c1", response={"a\0b": "\\\0\0\\u0000"})
        )
        event = Event(author="clerk", content=types.Content(role="user", parts=[part]))
        await DjangoSessionService().append_event(session, event)
        [row] = await log(session)
        stored = row.body["content"]["parts"][0]["functionResponse"]["response"]
        assert stored == {"a\ufffdb": "\\\ufffd\ufffd\\u0000"}

    async def test_half_a_surrogate_pair_becomes_a_replacement_character(self, person: User) -> None:
        """A model that is cut off within a character does not lose the turn."""
        session = await opened(person)
        call = types.FunctionCall(name="read", id="c1", args={"path": "a\udc00b"})
        event = said("x\ud800y \ud83d\ude00 \0")
        assert event.content is not None and event.content.parts
        event.content.parts.append(types.Part(function_call=call))
        await DjangoSessionService().append_event(session, event)
        text, asked = (await log(session))[0].body["content"]["parts"]
        assert text["text"] == "x\ufffdy \U0001f600 \ufffd"
        assert asked["functionCall"]["args"] == {"path": "a\ufffdb"}
        assert texts(await loaded(session)) == [text["text"]]

    async def test_an_event_of_a_bad_value_leaves_no_trace(self, person: User) -> None:
        """S7, S8."""
        session = await opened(person)
        with pytest.raises(StateValueError, match="'b'"):
            await DjangoSessionService().append_event(session, said("x", a=1, b=object()))
        assert (await log(session), (await row_of(session)).last_seq) == ([], 0)

    async def test_the_columns_of_an_event_are_derived_from_its_json(self, person: User) -> None:
        session = await opened(person)
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
        [row] = await log(session)
        assert (row.event_id, row.author, row.invocation_id) == (event.id, "clerk", "e-7")
        assert (row.kind, row.text) == ("message", "Hello")
        assert (row.prompt_tokens, row.output_tokens) == (3, 4)
        assert row.happened_at is not None and row.happened_at.timestamp() == event.timestamp


class TestFence:
    """A writer that lost its lease cannot write; nobody speaks while another runs."""

    async def test_the_holder_of_the_lease_writes(self, person: User) -> None:
        session = await opened(person)
        claim = await claimed(session)
        await DjangoSessionService(lease_token=claim.lease_token).append_event(session, said("mine", a=1))
        assert [event.text for event in await log(session)] == ["mine"]

    async def test_a_writer_whose_lease_was_taken_over_stores_nothing(self, person: User) -> None:
        """S7."""
        session = await opened(person)
        old = await claimed(session)
        new = await taken_over(old)
        assert (new.invocation_id, new.message) == (old.invocation_id, MESSAGE)
        assert new.lease_token > old.lease_token
        for event in (said("late", **{"a": 1, "user:a": 1, "app:a": 1}), changed(a=1)):
            with pytest.raises(StaleLeaseError, match=session.id):
                await DjangoSessionService(lease_token=old.lease_token).append_event(session, event)
        assert (session.events, await log(session), (await row_of(session)).state) == ([], [], {})
        assert await state_of_the_user(person) == {}
        await DjangoSessionService(lease_token=new.lease_token).append_event(session, said("new"))
        assert [event.text for event in await log(session)] == ["new"]

    async def test_a_writer_that_gave_its_lease_back_stores_nothing(self, person: User) -> None:
        session = await opened(person)
        claim = await claimed(session)
        assert await leases.finish(claim, status="completed")
        with pytest.raises(StaleLeaseError):
            await DjangoSessionService(lease_token=claim.lease_token).append_event(session, said("late"))
        assert await log(session) == []

    async def test_content_without_a_lease_is_refused_while_someone_runs(self, person: User) -> None:
        session = await opened(person)
        claim = await claimed(session)
        with pytest.raises(StaleLeaseError):
            await DjangoSessionService().append_event(session, said("me, too", **{"user:a": 1}))
        assert (await log(session), await state_of_the_user(person)) == ([], {})
        await leases.finish(claim, status="completed")
        await DjangoSessionService().append_event(session, said("now"))
        assert [event.text for event in await log(session)] == ["now"]

    async def test_a_running_session_catches_up_with_state_from_outside(self, person: User) -> None:
        """State-only events may come from anyone; the session that runs reads what it missed."""
        session = await opened(person, {"a": 0})
        claim = await claimed(session)
        running = DjangoSessionService(lease_token=claim.lease_token)
        await running.append_event(session, said("first"))
        outside = await loaded(session)
        for number in (1, 2):
            await DjangoSessionService().append_event(outside, changed(a=number, b=number))
        assert session.state == {"a": 0}
        await running.append_event(session, said("second", b=3))
        assert [event.text() for event in session.events] == ["first", "", "", "second"]
        assert session.state == {"a": 2, "b": 3}
        assert await loaded(session) == session


class TestManyWriters:
    """Processes that write at the same time."""

    async def test_the_numbers_of_a_log_stay_dense_and_everybody_sees_one_order(self, person: User) -> None:
        session = await opened(person)

        async def write(name: str) -> None:
            mine = await loaded(session)
            for number in range(5):
                await DjangoSessionService().append_event(
                    mine, said(f"{name}{number}", **{f"{name}{number}": 1})
                )
            order = [event.text for event in await log(session)]
            assert [event.text() for event in mine.events] == order[: mine.last_seq]

        await together(*(lambda loop=loop, w=w: write(f"{loop}.{w}.") for loop in range(2) for w in range(5)))
        rows = await log(session)
        assert [row.seq for row in rows] == list(range(1, 51))
        assert (await row_of(session)).last_seq == 50
        assert len((await row_of(session)).state) == 50

    async def test_changes_of_shared_state_lose_nothing(self, person: User) -> None:
        async def write(name: str) -> None:
            mine = await opened(person)
            for number in range(5):
                key = f"{name}{number}"
                await DjangoSessionService().append_event(
                    mine, changed(**{f"user:{key}": 1, f"app:{key}": 1})
                )

        await together(*(lambda loop=loop, w=w: write(f"{loop}.{w}.") for loop in range(2) for w in range(4)))
        keys = [f"{loop}.{w}.{n}" for loop in range(2) for w in range(4) for n in range(5)]
        expected = {f"{scope}:{key}": 1 for key in keys for scope in ("user", "app")}
        assert await state_of_the_user(person) == expected

    @pytest.mark.parametrize("user_state", [{}, {"user:a": 1}], ids=["new", "known"])
    async def test_a_session_is_created_while_another_writes_the_same_scopes(
        self, person: User, user_state: dict[str, Any]
    ) -> None:
        """All lock the user's state before the app's, also where the user has none yet."""
        both = {"user:b": 2, "app:b": 2}
        session = await opened(person, {"app:a": 1, **user_state})
        async with held("SELECT FROM sessions_app_appstate FOR UPDATE"):
            append = asyncio.create_task(DjangoSessionService().append_event(session, changed(**both)))
            await blocked(1)
            create = asyncio.create_task(opened(person, both))
            await blocked(2)
        await asyncio.gather(append, create)
        assert await state_of_the_user(person) == {"app:a": 1, **user_state, **both}

    async def test_a_session_is_deleted_while_another_writes(self, person: User) -> None:
        """What was written before it goes with it, nothing is left over, nobody waits in a circle."""
        session = await opened(person)
        name = {"app_name": APP, "user_id": session.user_id, "session_id": session.id}
        async with held("SELECT FROM sessions_app_session FOR UPDATE"):
            append = asyncio.create_task(DjangoSessionService().append_event(session, said("x")))
            await blocked(1)
            delete = asyncio.create_task(DjangoSessionService().delete_session(**name))
            await blocked(2)
        await asyncio.gather(append, delete)
        assert not await models.Event.objects.aexists()
        assert await DjangoSessionService().get_session(**name) is None


class TestClaims:
    """An invocation is run by one process, one at a time in a session."""

    async def test_of_two_workers_one_gets_the_invocation(self, person: User) -> None:
        session = await opened(person)
        pk = await enqueued(session)
        claims: list[Claim | None] = []

        async def claim(owner: str) -> None:
            claims.append(await leases.claim_next(pk, owner=owner, lease_seconds=60))

        await together(*(lambda owner=owner: claim(owner) for owner in "abcdefgh"))
        [won] = [claim for claim in claims if claim]
        row = await models.Invocation.objects.aget(session_id=pk)
        stored = await row_of(session)
        assert (row.status, row.attempts, row.owner) == ("running", 1, stored.lease_owner)
        assert stored.lease_token == won.lease_token == 1

    async def test_the_same_client_id_is_queued_once(self, person: User) -> None:
        session = await opened(person)
        pk = (await row_of(session)).pk
        answers: list[Any] = []

        async def send(number: int) -> None:
            queued = await invocation_queue.enqueue(
                pk, user_id=person.pk, invocation_id=f"e-{number}", client_id="m1", message=MESSAGE
            )
            answers.append(queued)

        for number in range(3):
            await send(number)
        first, again = (
            invocation_queue.Queued("e-0", "queued", None),
            invocation_queue.Queued("e-0", "queued", None, True),
        )
        assert answers == [first, again, again]
        assert await models.Invocation.objects.filter(session_id=pk).acount() == 1

    async def test_nothing_is_queued_in_the_session_of_someone_else(self, person: User) -> None:
        session = await opened(person)
        stranger = await get_user_model().objects.acreate_user("eve")
        queued = await invocation_queue.enqueue(
            (await row_of(session)).pk,
            user_id=stranger.pk,
            invocation_id="e-1",
            client_id="m1",
            message=MESSAGE,
            title="mine now",
        )
        assert queued is None
        assert not await models.Invocation.objects.aexists()
        assert (await row_of(session)).title == ""

    async def test_the_next_invocation_waits_for_the_end_of_the_first(self, person: User) -> None:
        session = await opened(person)
        first = await claimed(session)
        pk = await enqueued(session, "m2", "e-2")
        assert await leases.claim_next(pk, owner="two", lease_seconds=60) is None
        await expire(first)
        assert await leases.claim_next(pk, owner="two", lease_seconds=60) is None
        assert await leases.finish(first, status="completed")
        second = await leases.claim_next(pk, owner="two", lease_seconds=60)
        assert second is not None
        assert (second.invocation_id, second.lease_token) == ("e-2", first.lease_token + 1)

    async def test_invocations_are_claimed_in_the_order_of_their_arrival(self, person: User) -> None:
        session = await opened(person)
        for number in range(3):
            pk = await enqueued(session, f"m{number}", f"e-{number}")
        order = []
        while claim := await leases.claim_next(pk, owner="one", lease_seconds=60):
            order.append(claim.invocation_id)
            await leases.finish(claim, status="completed")
        assert order == ["e-0", "e-1", "e-2"]

    async def test_what_is_being_cancelled_is_not_claimed_and_takes_no_lease(self, person: User) -> None:
        session = await opened(person)
        await enqueued(session)
        pk = await enqueued(session, "m2", "e-2")
        cancel = "UPDATE sessions_app_invocation SET status = 'cancelled' WHERE invocation_id = '{}'"
        async with held(cancel.format("e-1")):
            second = await leases.claim_next(pk, owner="one", lease_seconds=60)
        assert second is not None and second.invocation_id == "e-2"
        await leases.hand_over(second)
        async with held(cancel.format("e-2")):
            assert await leases.claim_next(pk, owner="one", lease_seconds=60) is None
        assert (await row_of(session)).lease_owner == ""

    async def test_a_lease_under_which_nothing_runs_is_freed(self, person: User) -> None:
        session = await opened(person)
        claim = await claimed(session)
        await models.Invocation.objects.all().aupdate(status="cancelled")
        await enqueued(session, "m2", "e-2")
        second = await taken_over(claim)
        assert second.invocation_id == "e-2"

    async def test_only_what_has_expired_is_taken_over(self, person: User) -> None:
        session = await opened(person)
        claim = await claimed(session)
        assert await leases.take_back_expired() == []
        await taken_over(claim)
        assert await leases.take_back_expired() == []
        row = await models.Invocation.objects.aget(invocation_id=claim.invocation_id)
        assert (row.status, row.owner, row.attempts) == ("running", "two", 2)

    async def test_a_lost_lease_can_neither_be_renewed_nor_finished(self, person: User) -> None:
        session = await opened(person)
        old = await claimed(session, owner="one")
        renewed = await leases.renew([old.session_id], owner="one", lease_seconds=60)
        assert renewed.held == {old.session_id}
        await taken_over(old)
        renewed = await leases.renew([old.session_id], owner="one", lease_seconds=60)
        assert renewed.held == set()
        assert not await leases.finish(old, status="completed")
        row = await models.Invocation.objects.aget(invocation_id=old.invocation_id)
        assert (row.status, row.owner) == ("running", "two")


async def together(*jobs: Callable[[], Awaitable[None]]) -> None:
    """Run the jobs at the same time, half of them on another thread's loop with a pool of its own."""

    async def here(some: tuple[Callable[[], Awaitable[None]], ...]) -> None:
        await asyncio.gather(*(job() for job in some))

    async def there() -> None:
        try:
            await here(jobs[1::2])
        finally:
            await shut_down()

    await asyncio.gather(here(jobs[::2]), asyncio.to_thread(asyncio.run, there()))
