"""Contract: `sessions_app.history.state_changes` computes state changes from the log (contract S3, S4)."""

from sessions_app.history.state_changes import KeyChange, StateScope, state_changes


def test_a_changed_key_has_its_value_before() -> None:
    assert state_changes({"total": 2}, {"total": 1}) == [KeyChange("total", StateScope.SESSION, False, 1, 2)]


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
        KeyChange("app:total", StateScope.APP, False, 1, 2),
        KeyChange("user:name", StateScope.USER, True, None, "Ada"),
    ]


def test_an_event_without_a_delta_changed_nothing() -> None:
    assert state_changes({}, None) == []


def test_temp_keys_are_never_part_of_the_history() -> None:
    assert state_changes({"temp:x": 1}, {}) == []
