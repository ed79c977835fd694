"""Contract of session services (S1, S2, Q15): create, load, list, delete. Run by test_in_memory.py and test_django.py.

Both provide the fixtures `sessions` (the service under test), `ada` and `bob` (ids of existing users).
"""

from __future__ import annotations

from typing import Any

import pytest

from runtime.errors import AlreadyExistsError, SessionNotFoundError
from runtime.events import Event, EventActions
from runtime.sessions import BaseSessionService, GetSessionConfig, Session
from tests.fakes import text_content

APP = "shop"


def text_event(text: str, at: float | None = None, **delta: Any) -> Event:
    """Return an event with a text and state changes."""
    event = Event(author="clerk", invocation_id="e-1", content=text_content(text))
    event.actions.state_delta = delta
    if at is not None:
        event.timestamp = at
    return event


def state_event(delta: dict[str, Any]) -> Event:
    """Return an event with state changes only."""
    return Event(author="clerk", invocation_id="e-1", actions=EventActions(state_delta=delta))


def texts(session: Session) -> list[str]:
    return [event.text() for event in session.events]


async def create_session(sessions: BaseSessionService, user_id: str, **kwargs: Any) -> Session:
    return await sessions.create_session(app_name=APP, user_id=user_id, **kwargs)


async def load_session(sessions: BaseSessionService, session: Session, **config: Any) -> Session:
    """Load the session from the store."""
    found = await sessions.get_session(
        app_name=session.app_name,
        user_id=session.user_id,
        session_id=session.id,
        config=GetSessionConfig(**config) if config else None,
    )
    assert found is not None
    return found


class SessionLifeContract:
    """Contract S1, S2: create, load, list and delete sessions."""

    async def test_a_new_session_has_its_own_id_and_no_events(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S1."""
        first, second = await create_session(sessions, ada), await create_session(sessions, ada)
        assert first.id and first.id != second.id
        assert (first.app_name, first.user_id, first.events, first.state) == (APP, ada, [], {})
        assert first.last_update_time > 0

    async def test_a_given_session_id_is_stripped_of_white_space(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S2."""
        assert (await create_session(sessions, ada, session_id="  mine ")).id == "mine"
        assert (await create_session(sessions, ada, session_id="   ")).id.strip()

    async def test_a_created_session_equals_the_loaded_one(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S2."""
        state = {"a": [1, {"b": None}], "user:c": 2.5, "app:d": "ü"}
        session = await create_session(sessions, ada, state=state)
        assert session.state == state
        assert await load_session(sessions, session) == session

    async def test_temp_keys_of_the_initial_state_are_dropped_even_if_they_are_not_json(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S3, S4, S8."""
        session = await create_session(sessions, ada, state={"temp:client": object(), "kept": 1})
        assert session.state == (await load_session(sessions, session)).state == {"kept": 1}

    async def test_an_unknown_session_is_none(self, sessions: BaseSessionService, ada: str, bob: str) -> None:
        """Contract S2: sessions of another user or another app are unknown, too."""
        session = await create_session(sessions, ada, session_id="s")
        for app_name, user_id, session_id in [(APP, ada, "x"), (APP, bob, "s"), ("other", ada, "s")]:
            assert (
                await sessions.get_session(app_name=app_name, user_id=user_id, session_id=session_id) is None
            )
        assert await load_session(sessions, session) == session

    async def test_a_duplicate_id_is_refused_and_changes_nothing(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S2, S7."""
        session = await create_session(sessions, ada, session_id="s", state={"a": 1, "app:b": 1, "user:c": 1})
        with pytest.raises(AlreadyExistsError, match="'s'"):
            await create_session(sessions, ada, session_id="s", state={"a": 2, "app:b": 2, "user:c": 2})
        assert (await load_session(sessions, session)).state == {"a": 1, "app:b": 1, "user:c": 1}

    async def test_two_users_may_use_the_same_session_id(
        self, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        """Contract S2."""
        mine, theirs = (
            await create_session(sessions, ada, session_id="s"),
            await create_session(sessions, bob, session_id="s"),
        )
        await sessions.append_event(mine, text_event("mine"))
        assert texts(await load_session(sessions, mine)) == ["mine"]
        assert texts(await load_session(sessions, theirs)) == []

    async def test_listing_returns_the_users_sessions_with_state_and_without_events(
        self, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        """Contract S2."""
        first, second = (
            await create_session(sessions, ada, state={"n": 1}),
            await create_session(sessions, ada),
        )
        await create_session(sessions, bob)
        await sessions.create_session(app_name="other", user_id=ada)
        await sessions.append_event(second, text_event("hello", **{"n": 2, "user:u": 3, "app:a": 4}))
        listed = (await sessions.list_sessions(app_name=APP, user_id=ada)).sessions
        assert {session.id: session.state for session in listed} == {
            first.id: {"n": 1, "user:u": 3, "app:a": 4},
            second.id: {"n": 2, "user:u": 3, "app:a": 4},
        }
        assert all(session.events == [] for session in listed)
        times = {session.id: session.last_update_time for session in listed}
        assert times == {first.id: first.last_update_time, second.id: second.last_update_time}

    async def test_listing_without_a_user_returns_all_sessions_each_with_its_users_state(
        self, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        """Contract S2."""
        await create_session(sessions, ada, state={"user:name": "Ada"})
        await create_session(sessions, bob, state={"user:name": "Bob"})
        listed = (await sessions.list_sessions(app_name=APP)).sessions
        assert {session.user_id: session.state for session in listed} == {
            ada: {"user:name": "Ada"},
            bob: {"user:name": "Bob"},
        }

    async def test_listing_no_sessions_returns_an_empty_list(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S2."""
        assert (await sessions.list_sessions(app_name=APP, user_id=ada)).sessions == []

    async def test_deleting_a_session_keeps_the_state_of_its_user(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S2, S4."""
        session = await create_session(sessions, ada, session_id="s", state={"a": 1, "user:b": 2})
        await sessions.append_event(session, text_event("hello"))
        for _ in range(2):  # deleting a session twice is allowed
            await sessions.delete_session(app_name=APP, user_id=ada, session_id="s")
        assert await sessions.get_session(app_name=APP, user_id=ada, session_id="s") is None
        assert (await sessions.list_sessions(app_name=APP, user_id=ada)).sessions == []
        again = await create_session(sessions, ada, session_id="s")
        assert (again.state, texts(await load_session(sessions, again))) == ({"user:b": 2}, [])

    async def test_an_event_for_a_deleted_session_is_refused(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S7: the events of the passed session are not changed."""
        session = await create_session(sessions, ada)
        await sessions.append_event(session, text_event("before"))
        await sessions.delete_session(app_name=APP, user_id=ada, session_id=session.id)
        with pytest.raises(SessionNotFoundError, match=session.id):
            await sessions.append_event(session, text_event("after", **{"user:lost": 1}))
        assert texts(session) == ["before"]
        assert (await create_session(sessions, ada)).state == {}

    async def test_changing_a_returned_session_does_not_change_the_store(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S2."""
        state: dict[str, Any] = {"list": [1], "user:dict": {"a": 1}}
        created = await create_session(sessions, ada, state=state)
        state["list"].append("added by the caller")
        await sessions.append_event(created, text_event("one", more=[1]))
        for session in (created, await load_session(sessions, created)):
            session.state["list"].append(2)
            session.state["user:dict"]["b"] = 2
            session.state["more"].append(2)
            session.state["new"] = 1
            session.events.clear()
        [listed] = (await sessions.list_sessions(app_name=APP, user_id=ada)).sessions
        listed.state["list"].append(3)
        kept = await load_session(sessions, created)
        assert kept.state == {"list": [1], "user:dict": {"a": 1}, "more": [1]}
        assert texts(kept) == ["one"]
        assert kept.events[0].actions.state_delta == {"more": [1]}


class GetConfigContract:
    """Contract S2, Q15: loading a part of the events."""

    @pytest.fixture
    async def long(self, sessions: BaseSessionService, ada: str) -> Session:
        """Create a session with five events, one second apart."""
        session = await create_session(sessions, ada)
        for number in range(5):
            await sessions.append_event(
                session, text_event(str(number), at=1_700_000_000.25 + number, n=number)
            )
        return session

    @pytest.mark.parametrize(
        ("config", "expected"),
        [
            ({"num_recent_events": 2}, "34"),
            ({"num_recent_events": 0}, ""),
            ({"num_recent_events": 9}, "01234"),
            ({"after_timestamp": 1_700_000_002.25}, "234"),
            ({"after_timestamp": 1_700_000_002.250001}, "34"),
            ({"after_timestamp": 1_800_000_000.0}, ""),
            ({"after_timestamp": 0.0}, "01234"),
            ({"after_timestamp": 1_700_000_001.25, "num_recent_events": 2}, "34"),
            ({"after_timestamp": 1_700_000_004.25, "num_recent_events": 3}, "4"),
        ],
    )
    async def test_events_are_selected_by_number_and_by_time(
        self, sessions: BaseSessionService, long: Session, config: dict[str, Any], expected: str
    ) -> None:
        """Contract Q15: `after_timestamp` is inclusive; zero recent events are no events."""
        loaded = await load_session(sessions, long, **config)
        assert "".join(texts(loaded)) == expected
        assert loaded.state == {"n": 4}
        assert loaded.last_update_time == long.last_update_time

    async def test_loading_a_part_of_the_events_does_not_change_the_store(
        self, sessions: BaseSessionService, long: Session
    ) -> None:
        """Contract S2."""
        await load_session(sessions, long, num_recent_events=1)
        assert await load_session(sessions, long) == long

    async def test_an_event_can_be_appended_to_a_partly_loaded_session(
        self, sessions: BaseSessionService, long: Session
    ) -> None:
        """Contract S3."""
        part = await load_session(sessions, long, num_recent_events=1)
        await sessions.append_event(part, text_event("5"))
        assert texts(part) == ["4", "5"]
        assert "".join(texts(await load_session(sessions, long))) == "012345"
