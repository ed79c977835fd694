"""What every session service does: S1 to S5, S7, S8, Q15. Run by test_in_memory.py and test_django.py.

The modules that run it provide the fixtures `sessions` (the service), `ada` and `bob` (user ids that it knows).
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from runtime import types
from runtime.errors import AlreadyExistsError, SessionNotFoundError, StateValueError
from runtime.events import Event, EventActions
from runtime.sessions import BaseSessionService, GetSessionConfig, Session
from tests.fakes import text_content

APP = "shop"


def said(text: str, at: float | None = None, **delta: Any) -> Event:
    """An agent's words, with state changes."""
    event = Event(author="clerk", invocation_id="e-1", content=text_content(text))
    event.actions.state_delta = delta
    if at is not None:
        event.timestamp = at
    return event


def changed(delta: dict[str, Any]) -> Event:
    """A state change without words."""
    return Event(author="clerk", invocation_id="e-1", actions=EventActions(state_delta=delta))


def texts(session: Session) -> list[str]:
    return [event.text() for event in session.events]


async def opened(sessions: BaseSessionService, user_id: str, **kwargs: Any) -> Session:
    return await sessions.create_session(app_name=APP, user_id=user_id, **kwargs)


async def stored(sessions: BaseSessionService, session: Session, **config: Any) -> Session:
    """The session as the store has it."""
    found = await sessions.get_session(
        app_name=session.app_name,
        user_id=session.user_id,
        session_id=session.id,
        config=GetSessionConfig(**config) if config else None,
    )
    assert found is not None
    return found


class SessionLifeContract:
    """S1, S2: create, get, list, delete."""

    async def test_a_new_session_has_a_name_of_its_own_and_no_events(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """S1."""
        first, second = await opened(sessions, ada), await opened(sessions, ada)
        assert first.id and first.id != second.id
        assert (first.app_name, first.user_id, first.events, first.state) == (APP, ada, [], {})
        assert first.last_update_time > 0

    async def test_a_session_takes_the_id_that_it_is_given_without_the_space_around_it(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """S2."""
        assert (await opened(sessions, ada, session_id="  mine ")).id == "mine"
        assert (await opened(sessions, ada, session_id="   ")).id.strip()

    async def test_what_was_created_is_what_is_loaded(self, sessions: BaseSessionService, ada: str) -> None:
        """S2."""
        state = {"a": [1, {"b": None}], "user:c": 2.5, "app:d": "ü"}
        session = await opened(sessions, ada, state=state)
        assert session.state == state
        assert await stored(sessions, session) == session

    async def test_a_new_session_starts_without_what_is_of_one_invocation_only_whatever_that_is(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """S3, S4, S8: what is not stored need not be JSON."""
        session = await opened(sessions, ada, state={"temp:client": object(), "kept": 1})
        assert session.state == (await stored(sessions, session)).state == {"kept": 1}

    async def test_a_session_that_there_is_not_is_none(
        self, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        """S2: neither is someone else's, nor another app's."""
        session = await opened(sessions, ada, session_id="s")
        for app_name, user_id, session_id in [(APP, ada, "x"), (APP, bob, "s"), ("other", ada, "s")]:
            assert (
                await sessions.get_session(app_name=app_name, user_id=user_id, session_id=session_id) is None
            )
        assert await stored(sessions, session) == session

    async def test_an_id_that_is_taken_is_refused_and_changes_nothing(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """S2, S7."""
        session = await opened(sessions, ada, session_id="s", state={"a": 1, "app:b": 1, "user:c": 1})
        with pytest.raises(AlreadyExistsError, match="'s'"):
            await opened(sessions, ada, session_id="s", state={"a": 2, "app:b": 2, "user:c": 2})
        assert (await stored(sessions, session)).state == {"a": 1, "app:b": 1, "user:c": 1}

    async def test_two_users_may_give_their_sessions_one_id(
        self, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        """S2."""
        mine, theirs = (
            await opened(sessions, ada, session_id="s"),
            await opened(sessions, bob, session_id="s"),
        )
        await sessions.append_event(mine, said("mine"))
        assert texts(await stored(sessions, mine)) == ["mine"]
        assert texts(await stored(sessions, theirs)) == []

    async def test_a_list_has_the_users_sessions_with_state_and_without_events(
        self, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        """S2."""
        first, second = await opened(sessions, ada, state={"n": 1}), await opened(sessions, ada)
        await opened(sessions, bob)
        await sessions.create_session(app_name="other", user_id=ada)
        await sessions.append_event(second, said("hello", **{"n": 2, "user:u": 3, "app:a": 4}))
        listed = (await sessions.list_sessions(app_name=APP, user_id=ada)).sessions
        assert {one.id: one.state for one in listed} == {
            first.id: {"n": 1, "user:u": 3, "app:a": 4},
            second.id: {"n": 2, "user:u": 3, "app:a": 4},
        }
        assert all(one.events == [] for one in listed)
        times = {one.id: one.last_update_time for one in listed}
        assert times == {first.id: first.last_update_time, second.id: second.last_update_time}

    async def test_a_list_without_a_user_has_everybodys_sessions_each_with_their_own_state(
        self, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        """S2."""
        await opened(sessions, ada, state={"user:name": "Ada"})
        await opened(sessions, bob, state={"user:name": "Bob"})
        listed = (await sessions.list_sessions(app_name=APP)).sessions
        assert {one.user_id: one.state for one in listed} == {
            ada: {"user:name": "Ada"},
            bob: {"user:name": "Bob"},
        }

    async def test_nothing_to_list_is_an_empty_list(self, sessions: BaseSessionService, ada: str) -> None:
        """S2."""
        assert (await sessions.list_sessions(app_name=APP, user_id=ada)).sessions == []

    async def test_a_deleted_session_is_gone_and_its_users_state_stays(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """S2, S4."""
        session = await opened(sessions, ada, session_id="s", state={"a": 1, "user:b": 2})
        await sessions.append_event(session, said("hello"))
        for _ in range(2):  # deleting again does nothing
            await sessions.delete_session(app_name=APP, user_id=ada, session_id="s")
        assert await sessions.get_session(app_name=APP, user_id=ada, session_id="s") is None
        assert (await sessions.list_sessions(app_name=APP, user_id=ada)).sessions == []
        again = await opened(sessions, ada, session_id="s")
        assert (again.state, texts(await stored(sessions, again))) == ({"user:b": 2}, [])

    async def test_an_event_for_a_deleted_session_is_refused(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """S7: and the passed session's events stay as they were."""
        session = await opened(sessions, ada)
        await sessions.append_event(session, said("before"))
        await sessions.delete_session(app_name=APP, user_id=ada, session_id=session.id)
        with pytest.raises(SessionNotFoundError, match=session.id):
            await sessions.append_event(session, said("after", **{"user:lost": 1}))
        assert texts(session) == ["before"]
        assert (await opened(sessions, ada)).state == {}

    async def test_changing_a_returned_session_does_not_change_the_store(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """S2."""
        state: dict[str, Any] = {"list": [1], "user:dict": {"a": 1}}
        created = await opened(sessions, ada, state=state)
        state["list"].append("theirs")
        await sessions.append_event(created, said("one", more=[1]))
        for session in (created, await stored(sessions, created)):
            session.state["list"].append(2)
            session.state["user:dict"]["b"] = 2
            session.state["more"].append(2)
            session.state["new"] = 1
            session.events.clear()
        [listed] = (await sessions.list_sessions(app_name=APP, user_id=ada)).sessions
        listed.state["list"].append(3)
        kept = await stored(sessions, created)
        assert kept.state == {"list": [1], "user:dict": {"a": 1}, "more": [1]}
        assert texts(kept) == ["one"]
        assert kept.events[0].actions.state_delta == {"more": [1]}


class AppendContract:
    """S3, S4, S7, S8, Q15: what a commit does."""

    async def test_the_loaded_session_equals_the_one_that_was_passed_in(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Q15: whatever the events hold."""
        session = await opened(sessions, ada, state={"n": 0})
        for event in _events_of_every_kind():
            assert await sessions.append_event(session, event) is event
        loaded = await stored(sessions, session)
        assert loaded.events == session.events
        assert loaded.last_update_time == session.last_update_time == session.events[-1].timestamp
        assert loaded == session

    async def test_a_clock_finer_than_microseconds_makes_no_difference(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Q15."""
        session = await opened(sessions, ada)
        for timestamp in (1_700_000_000.1234567, 1_700_000_000.1234565, 1_700_000_000.9999999):
            await sessions.append_event(session, said("tick", at=timestamp))
            assert await stored(sessions, session) == session

    async def test_what_is_done_to_an_event_after_its_commit_is_not_stored(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """S2."""
        session = await opened(sessions, ada)
        event = await sessions.append_event(session, said("kept", n=[1]))
        assert event.content is not None and event.content.parts
        event.content.parts[0].text = "changed"
        event.actions.state_delta["n"].append(2)
        loaded = await stored(sessions, session)
        assert texts(loaded) == ["kept"]
        assert loaded.events[0].actions.state_delta == {"n": [1]}

    async def test_a_commit_is_seen_by_sessions_loaded_later_only(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """S3."""
        session = await opened(sessions, ada)
        earlier = await stored(sessions, session)
        await sessions.append_event(session, said("one", n=1))
        assert (texts(earlier), earlier.state) == ([], {})
        assert (texts(await stored(sessions, session)), session.state) == (["one"], {"n": 1})

    async def test_a_key_belongs_to_the_scope_of_its_prefix(
        self, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        """S4."""
        session = await opened(sessions, ada)
        await sessions.append_event(session, changed({"mine": 1, "user:ours": 2, "app:all": 3}))
        assert session.state == {"mine": 1, "user:ours": 2, "app:all": 3}
        assert (await stored(sessions, session)).state == session.state
        assert (await opened(sessions, ada)).state == {"user:ours": 2, "app:all": 3}
        assert (await opened(sessions, bob)).state == {"app:all": 3}
        other_app = await sessions.create_session(app_name="other", user_id=ada)
        assert other_app.state == {}

    async def test_scopes_with_one_name_stay_apart(self, sessions: BaseSessionService, ada: str) -> None:
        """S4."""
        delta = {"k": 1, "user:k": 2, "app:k": 3, "user:app:k": 4}
        session = await opened(sessions, ada)
        await sessions.append_event(session, changed(delta))
        assert (await stored(sessions, session)).state == delta

    async def test_temp_keys_are_readable_and_never_stored(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """S3, S4."""
        session = await opened(sessions, ada, state={"temp:born": 1, "kept": 1})
        assert session.state == {"kept": 1}
        event = await sessions.append_event(session, changed({"temp:t": object, "kept": 2}))
        assert session.state == {"temp:t": object, "kept": 2}
        assert event.actions.state_delta == {"kept": 2}
        loaded = await stored(sessions, session)
        assert loaded.state == {"kept": 2}
        assert loaded.events[0].actions.state_delta == {"kept": 2}

    async def test_a_partial_event_is_passed_through(self, sessions: BaseSessionService, ada: str) -> None:
        """S3, L4."""
        session = await opened(sessions, ada)
        event = said("fragment", **{"n": 1, "temp:t": 1})
        event.partial = True
        assert await sessions.append_event(session, event) is event
        assert event.actions.state_delta == {"n": 1, "temp:t": 1}
        assert (session.events, session.state) == ([], {})
        assert await stored(sessions, session) == session

    async def test_a_delta_replaces_whole_values(self, sessions: BaseSessionService, ada: str) -> None:
        """S3: nested dicts are not merged, None is a value."""
        session = await opened(sessions, ada, state={"d": {"a": 1}, "user:d": {"a": 1}, "n": 1, "keep": 1})
        await sessions.append_event(session, changed({"d": {"b": 2}, "user:d": {"b": 2}, "n": None}))
        assert session.state == {"d": {"b": 2}, "user:d": {"b": 2}, "n": None, "keep": 1}
        assert await stored(sessions, session) == session

    @pytest.mark.parametrize(
        "bad",
        [object(), {1, 2}, b"bytes", float("nan"), {"deep": [object()]}, "nul\0", ["\ud800"], {"\0": 1}],
        ids=["object", "set", "bytes", "nan", "nested", "nul", "half-surrogate", "nul-in-a-nested-key"],
    )
    @pytest.mark.parametrize("key", ["bad", "user:bad", "app:bad"])
    async def test_a_value_that_cannot_be_stored_names_its_key_and_stores_nothing(
        self, sessions: BaseSessionService, ada: str, key: str, bad: object
    ) -> None:
        """S7, S8."""
        session = await opened(sessions, ada)
        event = said("lost", **{"good": 1, "user:good": 1, "app:good": 1, key: bad})
        with pytest.raises(StateValueError, match=repr(key)):
            await sessions.append_event(session, event)
        assert texts(session) == []
        loaded = await stored(sessions, session)
        assert (loaded.events, loaded.state, loaded.last_update_time) == ([], {}, session.last_update_time)

    @pytest.mark.parametrize("key", ["nul\0", "half\ud800", "\udc00"])
    @pytest.mark.parametrize("prefix", ["", "user:", "app:"])
    async def test_a_key_that_cannot_be_stored_is_named_and_stores_nothing(
        self, sessions: BaseSessionService, ada: str, prefix: str, key: str
    ) -> None:
        """S7, S8."""
        session = await opened(sessions, ada)
        with pytest.raises(StateValueError, match=re.escape(repr(prefix + key))):
            await sessions.append_event(session, changed({"good": 1, prefix + key: 1}))
        assert (await stored(sessions, session)).state == {}
        with pytest.raises(StateValueError, match=re.escape(repr(prefix + key))):
            await opened(sessions, ada, state={prefix + key: 1})

    async def test_a_bad_value_creates_no_session(self, sessions: BaseSessionService, ada: str) -> None:
        """S8."""
        with pytest.raises(StateValueError, match="'user:bad'"):
            await opened(sessions, ada, session_id="s", state={"app:good": 1, "user:bad": object()})
        assert (await opened(sessions, ada, session_id="s")).state == {}

    @pytest.mark.parametrize(
        "text", ["\\u0000", "back\\\\u0000", "😀", "\\ud800", '"quoted"\n', "\x7f\u2028"]
    )
    async def test_text_that_only_looks_unstorable_is_kept(
        self, sessions: BaseSessionService, ada: str, text: str
    ) -> None:
        """S8."""
        session = await opened(sessions, ada)
        await sessions.append_event(session, said(text, value=text, nested={text: [text]}))
        loaded = await stored(sessions, session)
        assert loaded == session
        assert loaded.state == {"value": text, "nested": {text: [text]}}
        assert texts(loaded) == [text]

    async def test_what_json_turns_into_something_else_is_seen_so_at_once(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """S8, Q15: tuples become lists, keys strings, for the writer, too."""
        session = await opened(sessions, ada)
        event = await sessions.append_event(session, changed({"pair": (1, 2), "map": {1: "x"}}))
        assert session.state == event.actions.state_delta == {"pair": [1, 2], "map": {"1": "x"}}
        assert await stored(sessions, session) == session

    async def test_numbers_keep_their_kind(self, sessions: BaseSessionService, ada: str) -> None:
        """S8."""
        values = {"big": 2**80, "float": 0.1, "negative": -0.5, "true": True, "zero": 0, "tiny": 1e-300}
        session = await opened(sessions, ada)
        await sessions.append_event(session, changed(dict(values)))
        loaded = (await stored(sessions, session)).state
        assert loaded == values
        assert {key: type(value) for key, value in loaded.items()} == {k: type(v) for k, v in values.items()}

    async def test_what_the_writer_does_to_a_value_later_is_not_stored(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """S3."""
        items = [1]
        session = await opened(sessions, ada)
        event = await sessions.append_event(session, changed({"items": items}))
        items.append(2)
        session.state["items"].append(3)
        assert event.actions.state_delta == {"items": [1]}
        assert (await stored(sessions, session)).state == {"items": [1]}

    async def test_commits_of_many_writers_lose_nothing(
        self, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        """S7: every event and every shared key is there."""

        async def write(number: int) -> None:
            session = await opened(sessions, (ada, bob)[number % 2], state={f"app:born{number}": number})
            for step in range(3):
                key = f"{number}_{step}"
                await sessions.append_event(session, said(key, **{f"user:{key}": step, f"app:{key}": step}))

        await asyncio.gather(*(write(number) for number in range(8)))
        state = (await opened(sessions, ada)).state
        written = {f"{number}_{step}": step for number in range(8) for step in range(3)}
        assert state == (
            {f"app:{key}": step for key, step in written.items()}
            | {f"app:born{number}": number for number in range(8)}
            | {f"user:{key}": step for key, step in written.items() if int(key[0]) % 2 == 0}
        )
        listed = (await sessions.list_sessions(app_name=APP)).sessions
        loaded = [await stored(sessions, one) for one in listed]
        assert sorted(text for one in loaded for text in texts(one)) == sorted(written)


class GetConfigContract:
    """S2, Q15: loading a part of the events."""

    @pytest.fixture
    async def long(self, sessions: BaseSessionService, ada: str) -> Session:
        """Five events, a second apart."""
        session = await opened(sessions, ada)
        for number in range(5):
            await sessions.append_event(session, said(str(number), at=1_700_000_000.25 + number, n=number))
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
    async def test_the_last_so_many_and_those_from_a_time_on_are_loaded(
        self, sessions: BaseSessionService, long: Session, config: dict[str, Any], expected: str
    ) -> None:
        """Q15: `after_timestamp` is inclusive; zero events are none."""
        loaded = await stored(sessions, long, **config)
        assert "".join(texts(loaded)) == expected
        assert loaded.state == {"n": 4}
        assert loaded.last_update_time == long.last_update_time

    async def test_loading_a_part_leaves_the_whole_as_it_is(
        self, sessions: BaseSessionService, long: Session
    ) -> None:
        """S2."""
        await stored(sessions, long, num_recent_events=1)
        assert await stored(sessions, long) == long

    async def test_a_session_that_was_loaded_in_part_can_be_appended_to(
        self, sessions: BaseSessionService, long: Session
    ) -> None:
        """S3."""
        part = await stored(sessions, long, num_recent_events=1)
        await sessions.append_event(part, said("5"))
        assert texts(part) == ["4", "5"]
        assert "".join(texts(await stored(sessions, long))) == "012345"


def _events_of_every_kind() -> list[Event]:
    call = types.FunctionCall(id="c1", name="find", args={"where": ["ü", 1.5, None]})
    answer = types.FunctionResponse(id="c1", name="find", response={"result": [{"a": 1}]})
    photo = types.Part(inline_data=types.Blob(data=bytes(range(256)), mime_type="image/png"))
    thought = types.Part(text="hm", thought=True, thought_signature=b"\xff\x00\xfe")
    return [
        Event(author="user", invocation_id="e-1", content=types.Content(role="user", parts=[photo])),
        Event(
            author="clerk",
            invocation_id="e-1",
            branch="a.b",
            content=types.Content(role="model", parts=[thought, types.Part(function_call=call)]),
            long_running_tool_ids={"c1"},
            usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=3),
            finish_reason=types.FinishReason.STOP,
            turn_complete=True,
            partial=False,
            custom_metadata={"k": [1]},
        ),
        Event(
            author="clerk",
            invocation_id="e-1",
            content=types.Content(role="user", parts=[types.Part(function_response=answer)]),
            actions=EventActions(
                state_delta={"n": 1, "user:n": {"a": [1]}},
                artifact_delta={"user:a/b.txt": 2},
                skip_summarization=True,
                escalate=False,
                transfer_to_agent="expert",
                agent_state={"step": 1},
                end_of_agent=True,
                rewind_before_invocation_id="e-0",
            ),
        ),
        Event(author="clerk", invocation_id="e-1", error_code="SAFETY", error_message="Blocked."),
        Event(author="clerk"),
    ]
