"""Contract: `sessions_app.history.state_changes` computes state changes from the log (contract S3, S4)."""

from typing import Any

from sessions_app.history.state_changes import (
    Scope,
    SharedWrite,
    StateChange,
    replay,
    shared_writes,
    state_changes,
)


def test_a_changed_key_has_its_value_before() -> None:
    assert state_changes({"total": 2}, {"total": 1}) == [StateChange("total", Scope.SESSION, False, 1, 2)]


def test_a_key_that_was_absent_is_new_and_one_that_was_null_is_not() -> None:
    fresh, was_null = state_changes({"fresh": 1, "was_null": 1}, {"was_null": None})
    assert (fresh.is_new, fresh.before) == (True, None)
    assert (was_null.is_new, was_null.before) == (False, None)


def test_a_key_set_to_the_value_it_had_is_the_same() -> None:
    same, changed, fresh = state_changes({"a": None, "b": 2, "c": None}, {"a": None, "b": 1})
    assert [same.is_same, changed.is_same, fresh.is_same] == [True, False, False]


def test_shared_keys_have_the_value_that_any_session_wrote_before() -> None:
    changes = state_changes({"app:total": 2, "user:name": "Ada"}, {"app:total": 1})
    assert changes == [
        StateChange("app:total", Scope.APP, False, 1, 2),
        StateChange("user:name", Scope.USER, True, None, "Ada"),
    ]


def test_an_event_without_a_delta_changed_nothing() -> None:
    assert state_changes({}, None) == []


def test_temp_keys_are_never_part_of_the_history() -> None:
    assert state_changes({"temp:x": 1}, {}) == []
    assert replay({}, [{"temp:x": 1}]) == {}
    assert shared_writes([(1, {"temp:x": 1})]) == []


def test_a_replay_starts_from_the_initial_state_and_does_not_change_it() -> None:
    initial = {"kept": 1, "changed": 1}
    assert replay(initial, [{"changed": 2}, {"changed": 3, "new": None}]) == {
        "kept": 1,
        "changed": 3,
        "new": None,
    }
    assert initial == {"kept": 1, "changed": 1}


def test_a_replay_ignores_keys_of_other_scopes() -> None:
    assert replay({}, [{"a": 1, "user:a": 2, "app:a": 3}]) == {"a": 1}


def test_a_replay_in_two_parts_gives_the_same_state() -> None:
    deltas: list[dict[str, Any]] = [{"a": 1, "b": [1]}, {"a": 2}, {"b": [1, 2], "user:a": 1}, {"c": {"d": 1}}]
    whole = replay({"z": 0}, deltas)
    assert whole == {"z": 0, "a": 2, "b": [1, 2], "c": {"d": 1}}
    for stop in range(len(deltas)):
        assert replay(replay({"z": 0}, deltas[:stop]), deltas[stop:]) == whole


def test_shared_writes_name_the_last_event_that_set_each_key() -> None:
    deltas: list[tuple[int, dict[str, Any]]] = [
        (1, {"user:name": "Ada", "own": 1}),
        (4, {"app:total": 1}),
        (7, {"user:name": "Bob"}),
    ]
    assert shared_writes(deltas) == [
        SharedWrite("app:total", Scope.APP, 1, 4),
        SharedWrite("user:name", Scope.USER, "Bob", 7),
    ]
