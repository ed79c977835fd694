"""Tamper evidence: events are append-only in the database, and a changed log is found."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection

from runtime.events import Event as AdkEvent
from runtime.events import EventActions
from sessions_app.history.evidence.integrity import Flaw, flaw_in
from sessions_app.models import AppState, Event, Session, UserState
from sessions_app.process import threads
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoSessionService
from tests.fakes import text_content
from tests.integration.tampering import tamper

pytestmark = pytest.mark.usefixtures("loop_end")


async def session_with_events(person: User, count: int = 4) -> Session:
    service = DjangoSessionService()
    session = await service.create_session(app_name="shop", user_id=str(person.pk))
    for number in range(count):
        delta = {"count": number, "user:count": number, "app:count": number} if number % 2 else {}
        event = AdkEvent(
            author="clerk", content=text_content(f"no. {number}"), actions=EventActions(state_delta=delta)
        )
        await service.append_event(session, event)
    return await Session.objects.aget(key=session.id)


@pytest.fixture
async def session(person: User) -> Session:
    return await session_with_events(person)


async def tampered(session: Session, change: Callable[[], object]) -> Flaw | None:
    """Return the flaw that is found after `change` was made past the protection."""

    def apply() -> Flaw | None:
        tamper(change)
        return flaw_in(session.pk)

    return await in_thread(apply)


async def test_a_log_that_nobody_touched_has_no_flaw(session: Session) -> None:
    assert await tampered(session, lambda: None) is None


async def test_a_changed_body_is_found_at_its_event(session: Session) -> None:
    changed = Event.objects.filter(session=session, seq=2)
    flaw = await tampered(session, lambda: changed.update(body={"author": "clerk"}))
    assert flaw == Flaw(session.pk, 2, "altered")


async def test_a_changed_value_before_is_found(session: Session) -> None:
    changed = Event.objects.filter(session=session, seq=4)
    assert await tampered(session, lambda: changed.update(before={"count": 9})) == Flaw(
        session.pk, 4, "altered"
    )


async def test_a_removed_event_is_found(session: Session) -> None:
    removed = Event.objects.filter(session=session, seq=2)
    assert await tampered(session, removed.delete) == Flaw(session.pk, 3, "missing")


async def test_a_cut_off_end_is_found(session: Session) -> None:
    removed = Event.objects.filter(session=session, seq=4)
    assert await tampered(session, removed.delete) == Flaw(session.pk, 4, "cut off")


async def test_swapped_events_are_found(session: Session) -> None:
    def swap() -> None:
        for seq, other in ((2, -1), (3, 2), (-1, 3)):
            Event.objects.filter(session=session, seq=seq).update(seq=other)

    assert await tampered(session, swap) == Flaw(session.pk, 2, "altered")


async def test_an_event_of_another_session_is_found(session: Session, person: User) -> None:
    other = await session_with_events(person)

    def move() -> None:
        Event.objects.filter(session=session, seq=1).delete()
        Event.objects.filter(session=other, seq=1).update(session=session)

    assert await tampered(session, move) == Flaw(session.pk, 1, "altered")


async def test_an_event_that_the_site_did_not_append_is_found(session: Session) -> None:
    def add() -> None:
        Event.objects.create(session=session, seq=5, body={"author": "clerk"})
        Session.objects.filter(pk=session.pk).update(last_seq=5)

    assert await tampered(session, add) == Flaw(session.pk, 5, "unsealed")


_BY_THE_FIRST_RULE = """
UPDATE sessions_app_event e SET hash = adk_event_hash(c.chain, e.before) FROM (
    SELECT session_id, seq, adk_chain_of_log(session_id, seq, body) OVER (PARTITION BY session_id ORDER BY seq) AS chain
    FROM sessions_app_event
) c WHERE c.session_id = e.session_id AND c.seq = e.seq;
UPDATE sessions_app_session s SET log_hash = (
    SELECT adk_chain_of_log(session_id, seq, body ORDER BY seq) FROM sessions_app_event WHERE session_id = s.id
)"""


async def test_an_old_log_is_checked_by_the_first_rule_and_goes_on_by_the_second(session: Session) -> None:
    def rewrite() -> None:
        with connection.cursor() as cursor:
            cursor.execute(_BY_THE_FIRST_RULE)

    changed = Event.objects.filter(session=session, seq=2)
    old = bytes((await changed.aget()).hash or b"")
    assert await tampered(session, rewrite) is None
    await tampered(session, lambda: changed.update(before={"count": 9}))
    assert await in_thread(flaw_in, session.pk) == Flaw(session.pk, 2, "altered")
    await tampered(session, lambda: changed.update(before={}))
    service = DjangoSessionService()
    loaded = await service.get_session(app_name="shop", user_id=str(session.user_id), session_id=session.key)
    assert loaded is not None
    await service.append_event(loaded, AdkEvent(author="clerk", content=text_content("new")))
    assert await in_thread(flaw_in, session.pk) is None
    assert await tampered(session, lambda: changed.update(hash=old)) == Flaw(session.pk, 2, "altered")


async def test_the_database_refuses_to_change_or_delete_events(session: Session) -> None:
    events = Event.objects.filter(session=session)
    with pytest.raises(DatabaseError, match="append-only"):
        await events.aupdate(body={})
    with pytest.raises(DatabaseError, match="append-only"):
        await events.adelete()
    assert await events.acount() == 4


async def test_a_session_is_deleted_through_its_service(session: Session) -> None:
    await DjangoSessionService().delete_session(
        app_name="shop", user_id=str(session.user_id), session_id=session.key
    )
    assert not await Event.objects.aexists()


def test_adk_verify_names_the_flaw_and_fails(transactional_db: None, background_end: None) -> None:
    person = get_user_model().objects.create_user("bob")
    whole = threads.run(session_with_events(person))
    out = StringIO()
    call_command("adk_verify", stdout=out)
    assert "1 session checked, 0 not as they were written" in out.getvalue()
    tamper(lambda: Event.objects.filter(session=whole, seq=3).update(body={}))
    with pytest.raises(CommandError, match="1 not as they were written"):
        call_command("adk_verify", session=whole.pk, stdout=out)
    assert f"session {whole.pk}, event 3: altered" in out.getvalue()


async def test_the_rows_of_shared_state_come_with_a_session_however_it_was_inserted(person: User) -> None:
    rows = [Session(app_name="shop", user=person, key=f"imported {number}") for number in range(2)]
    await Session.objects.abulk_create(rows)
    assert [state.state async for state in UserState.objects.filter(user=person)] == [{}]
    assert [state.state async for state in AppState.objects.filter(app_name="shop")] == [{}]
