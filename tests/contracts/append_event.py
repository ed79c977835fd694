"""Contract of `append_event` (S3, S4, S7, S8, Q15). Run by test_in_memory.py and test_django.py.

Both provide the fixtures `sessions` (the service under test), `ada` and `bob` (ids of existing users).
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime import types
from runtime.errors import StateValueError
from runtime.events import Event, EventActions
from runtime.sessions import BaseSessionService
from tests.contracts.session_service import APP, create_session, load_session, state_event, text_event, texts


class AppendContract:
    """Contract S3, S4, S7, S8, Q15: effects of a commit."""

    async def test_the_loaded_session_equals_the_one_that_was_passed_in(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract Q15: for events with all kinds of fields."""
        session = await create_session(sessions, ada, state={"n": 0})
        for event in _events_of_every_kind():
            assert await sessions.append_event(session, event) is event
        loaded = await load_session(sessions, session)
        assert loaded.events == session.events
        assert loaded.last_update_time == session.last_update_time == session.events[-1].timestamp
        assert loaded == session

    async def test_timestamps_finer_than_microseconds_are_stored_alike(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract Q15."""
        session = await create_session(sessions, ada)
        for timestamp in (1_700_000_000.1234567, 1_700_000_000.1234565, 1_700_000_000.9999999):
            await sessions.append_event(session, text_event("tick", at=timestamp))
            assert await load_session(sessions, session) == session

    async def test_changing_an_event_after_its_commit_does_not_change_the_store(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S2."""
        session = await create_session(sessions, ada)
        event = await sessions.append_event(session, text_event("kept", n=[1]))
        assert event.content is not None and event.content.parts
        event.content.parts[0].text = "changed"
        event.actions.state_delta["n"].append(2)
        loaded = await load_session(sessions, session)
        assert texts(loaded) == ["kept"]
        assert loaded.events[0].actions.state_delta == {"n": [1]}

    async def test_a_commit_is_visible_only_in_sessions_loaded_later(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S3."""
        session = await create_session(sessions, ada)
        earlier = await load_session(sessions, session)
        await sessions.append_event(session, text_event("one", n=1))
        assert (texts(earlier), earlier.state) == ([], {})
        assert (texts(await load_session(sessions, session)), session.state) == (["one"], {"n": 1})

    async def test_a_key_belongs_to_the_scope_of_its_prefix(
        self, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        """Contract S4."""
        session = await create_session(sessions, ada)
        await sessions.append_event(session, state_event({"mine": 1, "user:ours": 2, "app:all": 3}))
        assert session.state == {"mine": 1, "user:ours": 2, "app:all": 3}
        assert (await load_session(sessions, session)).state == session.state
        assert (await create_session(sessions, ada)).state == {"user:ours": 2, "app:all": 3}
        assert (await create_session(sessions, bob)).state == {"app:all": 3}
        other_app = await sessions.create_session(app_name="other", user_id=ada)
        assert other_app.state == {}

    async def test_equal_keys_of_different_scopes_do_not_collide(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S4."""
        delta = {"k": 1, "user:k": 2, "app:k": 3, "user:app:k": 4}
        session = await create_session(sessions, ada)
        await sessions.append_event(session, state_event(delta))
        assert (await load_session(sessions, session)).state == delta

    async def test_temp_keys_are_readable_and_never_stored(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S3, S4."""
        session = await create_session(sessions, ada, state={"temp:born": 1, "kept": 1})
        assert session.state == {"kept": 1}
        event = await sessions.append_event(session, state_event({"temp:t": object, "kept": 2}))
        assert session.state == {"temp:t": object, "kept": 2}
        assert event.actions.state_delta == {"kept": 2}
        loaded = await load_session(sessions, session)
        assert loaded.state == {"kept": 2}
        assert loaded.events[0].actions.state_delta == {"kept": 2}

    async def test_a_partial_event_is_passed_through(self, sessions: BaseSessionService, ada: str) -> None:
        """Contract S3, L4."""
        session = await create_session(sessions, ada)
        event = text_event("fragment", **{"n": 1, "temp:t": 1})
        event.partial = True
        assert await sessions.append_event(session, event) is event
        assert event.actions.state_delta == {"n": 1, "temp:t": 1}
        assert (session.events, session.state) == ([], {})
        assert await load_session(sessions, session) == session

    async def test_a_delta_replaces_whole_values(self, sessions: BaseSessionService, ada: str) -> None:
        """Contract S3: nested dicts are not merged; None is a value."""
        session = await create_session(
            sessions, ada, state={"d": {"a": 1}, "user:d": {"a": 1}, "n": 1, "keep": 1}
        )
        await sessions.append_event(session, state_event({"d": {"b": 2}, "user:d": {"b": 2}, "n": None}))
        assert session.state == {"d": {"b": 2}, "user:d": {"b": 2}, "n": None, "keep": 1}
        assert await load_session(sessions, session) == session

    @pytest.mark.parametrize(
        "bad",
        [object(), {1, 2}, b"bytes", float("nan"), {"deep": [object()]}],
        ids=["object", "set", "bytes", "nan", "nested"],
    )
    @pytest.mark.parametrize("key", ["bad", "user:bad", "app:bad"])
    async def test_a_value_that_cannot_be_stored_names_its_key_and_stores_nothing(
        self, sessions: BaseSessionService, ada: str, key: str, bad: object
    ) -> None:
        """Contract S7, S8."""
        session = await create_session(sessions, ada)
        delta: dict[str, Any] = {"good": 1, "user:good": 1, "app:good": 1, key: bad}
        event = text_event("lost", **delta)
        with pytest.raises(StateValueError, match=repr(key)):
            await sessions.append_event(session, event)
        assert texts(session) == []
        loaded = await load_session(sessions, session)
        assert (loaded.events, loaded.state, loaded.last_update_time) == ([], {}, session.last_update_time)

    @pytest.mark.parametrize("bad", ["\0", "\ud800", "\udbff", "\udc00", "\udfff"])
    @pytest.mark.parametrize("prefix", ["", "user:", "app:"])
    async def test_nul_and_half_a_surrogate_pair_become_a_replacement_character(
        self, sessions: BaseSessionService, ada: str, prefix: str, bad: str
    ) -> None:
        """Contract S8: a model's argument that a tool stores must not end the turn."""
        value = {f"x{bad}": [f"a{bad}b", "😀"]}
        stored = {prefix + "key\ufffd": {"x\ufffd": ["a\ufffdb", "😀"]}}
        session = await create_session(sessions, ada)
        await sessions.append_event(session, state_event({f"{prefix}key{bad}": value}))
        assert (await load_session(sessions, session)).state == stored
        created = await create_session(sessions, ada, state={f"{prefix}key{bad}": value})
        assert created.state == stored

    async def test_a_bad_value_creates_no_session(self, sessions: BaseSessionService, ada: str) -> None:
        """Contract S8."""
        with pytest.raises(StateValueError, match="'user:bad'"):
            await create_session(sessions, ada, session_id="s", state={"app:good": 1, "user:bad": object()})
        assert (await create_session(sessions, ada, session_id="s")).state == {}

    @pytest.mark.parametrize(
        "text", ["\\u0000", "back\\\\u0000", "😀", "\\ud800", '"quoted"\n', "\x7f\u2028"]
    )
    async def test_text_that_only_looks_unstorable_is_kept(
        self, sessions: BaseSessionService, ada: str, text: str
    ) -> None:
        """Contract S8."""
        session = await create_session(sessions, ada)
        await sessions.append_event(session, text_event(text, value=text, nested={text: [text]}))
        loaded = await load_session(sessions, session)
        assert loaded == session
        assert loaded.state == {"value": text, "nested": {text: [text]}}
        assert texts(loaded) == [text]

    async def test_values_are_converted_to_json_for_the_writer_too(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S8, Q15: tuples become lists and keys become strings."""
        session = await create_session(sessions, ada)
        event = await sessions.append_event(session, state_event({"pair": (1, 2), "map": {1: "x"}}))
        assert session.state == event.actions.state_delta == {"pair": [1, 2], "map": {"1": "x"}}
        assert await load_session(sessions, session) == session

    async def test_numbers_keep_their_type(self, sessions: BaseSessionService, ada: str) -> None:
        """Contract S8."""
        values = {"big": 2**80, "float": 0.1, "negative": -0.5, "true": True, "zero": 0, "tiny": 1e-300}
        session = await create_session(sessions, ada)
        await sessions.append_event(session, state_event(dict(values)))
        loaded = (await load_session(sessions, session)).state
        assert loaded == values
        assert {key: type(value) for key, value in loaded.items()} == {k: type(v) for k, v in values.items()}

    async def test_changing_a_value_after_the_commit_does_not_change_the_store(
        self, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract S3."""
        items = [1]
        session = await create_session(sessions, ada)
        event = await sessions.append_event(session, state_event({"items": items}))
        items.append(2)
        session.state["items"].append(3)
        assert event.actions.state_delta == {"items": [1]}
        assert (await load_session(sessions, session)).state == {"items": [1]}

    async def test_concurrent_commits_lose_no_event_and_no_key(
        self, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        """Contract S7."""

        async def write(number: int) -> None:
            session = await create_session(
                sessions, (ada, bob)[number % 2], state={f"app:born{number}": number}
            )
            for step in range(3):
                key = f"{number}_{step}"
                await sessions.append_event(
                    session, text_event(key, **{f"user:{key}": step, f"app:{key}": step})
                )

        await asyncio.gather(*(write(number) for number in range(8)))
        state = (await create_session(sessions, ada)).state
        written = {f"{number}_{step}": step for number in range(8) for step in range(3)}
        assert state == (
            {f"app:{key}": step for key, step in written.items()}
            | {f"app:born{number}": number for number in range(8)}
            | {f"user:{key}": step for key, step in written.items() if int(key[0]) % 2 == 0}
        )
        listed = (await sessions.list_sessions(app_name=APP)).sessions
        loaded = [await load_session(sessions, session) for session in listed]
        assert sorted(text for session in loaded for text in texts(session)) == sorted(written)


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
