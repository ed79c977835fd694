"""Contract S5, S6: reading and writing the state during an invocation."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.sessions import State


@pytest.fixture
def value() -> dict[str, Any]:
    return {"a": 1, "list": [1], "dict": {"x": [1]}}


@pytest.fixture
def delta() -> dict[str, Any]:
    return {}


@pytest.fixture
def state(value: dict[str, Any], delta: dict[str, Any]) -> State:
    return State(value, delta)


def test_a_write_is_readable_immediately_and_recorded_in_the_delta(
    state: State, value: dict[str, Any], delta: dict[str, Any]
) -> None:
    """Contract S5, S6: later code of the invocation also reads the value from the session."""
    state["a"] = 2
    state["user:new"] = 3
    assert (state["a"], state["user:new"]) == (2, 3)
    assert delta == {"a": 2, "user:new": 3}
    assert (value["a"], value["user:new"]) == (2, 3)


def test_reads_see_the_delta_first() -> None:
    """Contract S5."""
    state = State({"a": 1}, {"a": 2, "b": 3})
    assert (state["a"], state.get("b"), "b" in state, len(state)) == (2, 3, True, 2)
    assert state.to_dict() == dict(state) == {"a": 2, "b": 3}


def test_a_read_records_no_change(state: State, delta: dict[str, Any]) -> None:
    """Contract S5."""
    assert state.get("missing") is None
    assert state.get("missing", 7) == 7
    assert (state["list"], "missing" in state) == ([1], False)
    with pytest.raises(KeyError, match="missing"):
        state["missing"]
    assert (state.has_delta(), delta) == (False, {})


def test_update_and_setdefault_record_their_writes(state: State, delta: dict[str, Any]) -> None:
    """Contract S5."""
    state.update({"b": 2}, c=3)
    assert state.setdefault("a", 9) == 1
    assert state.setdefault("d", 4) == 4
    assert delta == {"b": 2, "c": 3, "d": 4}
    assert state.has_delta()


def test_writing_the_same_value_again_is_a_write(state: State, delta: dict[str, Any]) -> None:
    state["a"] = 1
    assert (state.has_delta(), delta) == (True, {"a": 1})


def test_to_dict_returns_a_copy(state: State, delta: dict[str, Any]) -> None:
    state.to_dict()["new"] = 1
    assert ("new" in state, delta) == (False, {})


@pytest.mark.parametrize(
    ("key", "change", "after"),
    [
        ("list", lambda state: state["list"].append(2), [1, 2]),
        ("dict", lambda state: state["dict"]["x"].append(2), {"x": [1, 2]}),
        ("dict", lambda state: state.get("dict").update(y=1), {"x": [1], "y": 1}),
        ("list", lambda state: dict(state.items())["list"].clear(), []),
        ("new", lambda state: state.setdefault("new", []).append(1), [1]),
    ],
)
def test_a_change_in_place_counts_as_written(
    state: State, delta: dict[str, Any], key: str, change: Any, after: object
) -> None:
    """Contract S6."""
    change(state)
    assert state.has_delta()
    assert delta == {key: after}
    assert state[key] == after


def test_every_further_change_in_place_is_recorded(state: State, delta: dict[str, Any]) -> None:
    """Contract S6."""
    items = state["list"]
    for expected in ([1, "x"], [1, "x", "x"]):
        items.append("x")
        state.note_changes()
        assert delta["list"] == expected


def test_an_assignment_after_a_change_in_place_wins(state: State, delta: dict[str, Any]) -> None:
    state["list"].append(2)
    state["list"] = "replaced"
    assert state.has_delta()
    assert delta == {"list": "replaced"}


def test_a_key_cannot_be_deleted(state: State) -> None:
    """Events can only add and replace keys."""
    with pytest.raises(TypeError, match="'a'"):
        del state["a"]
    assert state["a"] == 1
    with pytest.raises(TypeError, match="None"):
        state.pop("a")


def test_the_prefixes_are_those_of_the_adk() -> None:
    """Contract S4."""
    assert (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX) == ("app:", "user:", "temp:")
