"""Contract: one process at a time runs a session; a process that lost its lease writes nothing (contract S7)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db.models.functions import Now

from sessions_app import models
from sessions_app.base import actors
from sessions_app.errors import ConflictError, StaleLeaseError
from sessions_app.invocations.held_lease import hold_lease
from sessions_app.store import DjangoSessionService
from sessions_app.store.session_service import Writer
from sessions_app.store.sql import invocation_queue, leases
from sessions_app.store.sql.invocation_queue import NewInvocation, Queued
from sessions_app.store.sql.leases import Claim
from tests.integration.locks import held
from tests.integration.session_helpers import (
    MESSAGE,
    claim_invocation,
    create_session,
    delta_event,
    enqueue_message,
    event_rows,
    expire_lease,
    load_session,
    run_on_two_loops,
    session_row,
    shared_state,
    take_over,
    text_event,
)

pytestmark = pytest.mark.usefixtures("loop_end")


class TestFence:
    """Fencing: only the lease holder appends content while a session runs."""

    async def test_the_holder_of_the_lease_writes(self, person: User) -> None:
        session = await create_session(person)
        claim = await claim_invocation(session)
        await DjangoSessionService(Writer(lease_token=claim.lease_token)).append_event(
            session, text_event("mine", a=1)
        )
        assert [event.text for event in await event_rows(session)] == ["mine"]

    async def test_a_writer_whose_lease_was_taken_over_stores_nothing(self, person: User) -> None:
        session = await create_session(person)
        old = await claim_invocation(session)
        new = await take_over(old)
        assert (new.invocation_id, new.message) == (old.invocation_id, MESSAGE)
        assert new.lease_token > old.lease_token
        for event in (text_event("late", **{"a": 1, "user:a": 1, "app:a": 1}), delta_event(a=1)):
            with pytest.raises(StaleLeaseError, match=session.id):
                await DjangoSessionService(Writer(lease_token=old.lease_token)).append_event(session, event)
        assert (session.events, await event_rows(session), (await session_row(session)).state) == ([], [], {})
        assert await shared_state(person) == {}
        await DjangoSessionService(Writer(lease_token=new.lease_token)).append_event(
            session, text_event("new")
        )
        assert [event.text for event in await event_rows(session)] == ["new"]

    @pytest.mark.parametrize("expected", [{}, {"a": "other"}], ids=["as seen", "changed"])
    async def test_a_correction_whose_lease_was_lost_says_so(
        self, person: User, expected: dict[str, str]
    ) -> None:
        session = await create_session(person)
        with pytest.raises(ConflictError, match="An answer is being written"):
            async with hold_lease((await session_row(session)).pk) as lease_token:
                await models.Session.objects.aupdate(lease_token=lease_token + 1)
                writer = Writer(lease_token=lease_token, expected=expected)
                await DjangoSessionService(writer).append_event(session, delta_event(a=1))
        assert await event_rows(session) == []

    async def test_a_held_lease_is_renewed(self, person: User, settings: Any) -> None:
        settings.ADK = {**settings.ADK, "heartbeat_seconds": 0.05}
        pk = (await session_row(await create_session(person))).pk
        session = models.Session.objects.filter(pk=pk)
        async with hold_lease(pk) as lease_token:
            await session.aupdate(lease_expires_at=Now())
            async with asyncio.timeout(60):
                while not await session.filter(lease_expires_at__gt=Now()).aexists():
                    await asyncio.sleep(0.01)
            assert (await session.aget()).lease_token == lease_token

    async def test_a_writer_that_released_its_lease_stores_nothing(self, person: User) -> None:
        session = await create_session(person)
        claim = await claim_invocation(session)
        assert await leases.finish(claim, status="completed")
        with pytest.raises(StaleLeaseError):
            await DjangoSessionService(Writer(lease_token=claim.lease_token)).append_event(
                session, text_event("late")
            )
        assert await event_rows(session) == []

    async def test_content_without_a_lease_is_refused_while_the_session_is_leased(self, person: User) -> None:
        session = await create_session(person)
        claim = await claim_invocation(session)
        with pytest.raises(StaleLeaseError):
            await DjangoSessionService().append_event(session, text_event("me, too", **{"user:a": 1}))
        assert (await event_rows(session), await shared_state(person)) == ([], {})
        await leases.finish(claim, status="completed")
        await DjangoSessionService().append_event(session, text_event("now"))
        assert [event.text for event in await event_rows(session)] == ["now"]

    async def test_a_running_session_catches_up_with_state_changes_from_outside(self, person: User) -> None:
        """State-only events need no lease; the running session loads them with its next append."""
        session = await create_session(person, {"a": 0})
        claim = await claim_invocation(session)
        running = DjangoSessionService(Writer(lease_token=claim.lease_token))
        await running.append_event(session, text_event("first"))
        outside = await load_session(session)
        for number in (1, 2):
            await DjangoSessionService().append_event(outside, delta_event(a=number, b=number))
        assert session.state == {"a": 0}
        await running.append_event(session, text_event("second", b=3))
        assert [event.text() for event in session.events] == ["first", "", "", "second"]
        assert session.state == {"a": 2, "b": 3}
        assert await load_session(session) == session


class TestClaims:
    """Claims: one process runs an invocation, and a session runs one invocation at a time."""

    async def test_one_of_many_workers_gets_the_invocation(self, person: User) -> None:
        session = await create_session(person)
        pk = await enqueue_message(session)
        claims: list[Claim | None] = []

        async def claim(owner: str) -> None:
            claims.append(await leases.claim_next(pk, owner=owner, lease_seconds=60))

        await run_on_two_loops(*(lambda owner=owner: claim(owner) for owner in "abcdefgh"))
        [won] = [claim for claim in claims if claim]
        row = await models.Invocation.objects.aget(session_id=pk)
        stored = await session_row(session)
        assert (row.status, row.attempts, row.owner) == ("running", 1, stored.lease_owner)
        assert stored.lease_token == won.lease_token == 1

    async def test_the_same_client_id_is_queued_once(self, person: User) -> None:
        session = await create_session(person)
        pk = (await session_row(session)).pk
        answers = [
            await invocation_queue.enqueue(
                NewInvocation(
                    pk, user_id=person.pk, invocation_id=f"e-{number}", client_id="m1", message=MESSAGE
                )
            )
            for number in range(3)
        ]
        first, repeated = Queued("e-0", "queued"), Queued("e-0", "queued", is_repeated=True)
        assert answers == [first, repeated, repeated]
        assert await models.Invocation.objects.filter(session_id=pk).acount() == 1

    async def test_nothing_is_queued_in_the_session_of_another_user(self, person: User) -> None:
        session = await create_session(person)
        stranger = await get_user_model().objects.acreate_user("eve")
        queued = await invocation_queue.enqueue(
            NewInvocation(
                (await session_row(session)).pk,
                user_id=stranger.pk,
                invocation_id="e-1",
                client_id="m1",
                message=MESSAGE,
                title="mine now",
            )
        )
        assert queued is None
        assert not await models.Invocation.objects.aexists()
        assert (await session_row(session)).title == ""

    async def test_only_a_message_of_the_person_takes_an_archived_session_back_into_the_list(
        self, person: User
    ) -> None:
        session = await create_session(person)
        pk = (await session_row(session)).pk
        await models.Session.objects.filter(pk=pk).aupdate(archived_at=Now(), title="Orders")
        for number, (by, is_archived) in enumerate(
            [
                (actors.schedule(1, "clerk"), True),
                (actors.job("j-1", "report"), True),
                (actors.person(person), False),
            ]
        ):
            await invocation_queue.enqueue(
                NewInvocation(
                    pk,
                    user_id=person.pk,
                    invocation_id=f"e-{number}",
                    client_id=f"m{number}",
                    message=MESSAGE,
                    by=by,
                )
            )
            assert ((await session_row(session)).archived_at is not None) == is_archived

    async def test_the_next_invocation_waits_for_the_end_of_the_first(self, person: User) -> None:
        session = await create_session(person)
        first = await claim_invocation(session)
        pk = await enqueue_message(session, "m2", "e-2")
        assert await leases.claim_next(pk, owner="two", lease_seconds=60) is None
        await expire_lease(first)
        assert await leases.claim_next(pk, owner="two", lease_seconds=60) is None
        assert await leases.finish(first, status="completed")
        second = await leases.claim_next(pk, owner="two", lease_seconds=60)
        assert second is not None
        assert (second.invocation_id, second.lease_token) == ("e-2", first.lease_token + 1)

    async def test_invocations_are_claimed_in_the_order_of_their_arrival(self, person: User) -> None:
        session = await create_session(person)
        for number in range(3):
            pk = await enqueue_message(session, f"m{number}", f"e-{number}")
        order = []
        while claim := await leases.claim_next(pk, owner="one", lease_seconds=60):
            order.append(claim.invocation_id)
            await leases.finish(claim, status="completed")
        assert order == ["e-0", "e-1", "e-2"]

    async def test_an_invocation_that_is_being_cancelled_is_not_claimed_and_takes_no_lease(
        self, person: User
    ) -> None:
        session = await create_session(person)
        await enqueue_message(session)
        pk = await enqueue_message(session, "m2", "e-2")
        cancel = "UPDATE sessions_app_invocation SET status = 'cancelled' WHERE invocation_id = '{}'"
        async with held(cancel.format("e-1")):
            second = await leases.claim_next(pk, owner="one", lease_seconds=60)
        assert second is not None and second.invocation_id == "e-2"
        await leases.hand_over(second)
        async with held(cancel.format("e-2")):
            assert await leases.claim_next(pk, owner="one", lease_seconds=60) is None
        assert (await session_row(session)).lease_owner == ""

    async def test_an_expired_lease_without_a_running_invocation_is_released(self, person: User) -> None:
        session = await create_session(person)
        claim = await claim_invocation(session)
        await models.Invocation.objects.all().aupdate(status="cancelled")
        await enqueue_message(session, "m2", "e-2")
        second = await take_over(claim)
        assert second.invocation_id == "e-2"

    async def test_only_expired_leases_are_taken_over(self, person: User) -> None:
        session = await create_session(person)
        claim = await claim_invocation(session)
        assert await leases.take_back_expired() == []
        await take_over(claim)
        assert await leases.take_back_expired() == []
        row = await models.Invocation.objects.aget(invocation_id=claim.invocation_id)
        assert (row.status, row.owner, row.attempts) == ("running", "two", 2)

    async def test_a_lost_lease_can_neither_be_renewed_nor_finished(self, person: User) -> None:
        session = await create_session(person)
        old = await claim_invocation(session, owner="one")
        renewed = await leases.renew([old.session_id], owner="one", lease_seconds=60)
        assert renewed.held == {old.session_id}
        await take_over(old)
        renewed = await leases.renew([old.session_id], owner="one", lease_seconds=60)
        assert renewed.held == set()
        assert not await leases.finish(old, status="completed")
        row = await models.Invocation.objects.aget(invocation_id=old.invocation_id)
        assert (row.status, row.owner) == ("running", "two")
