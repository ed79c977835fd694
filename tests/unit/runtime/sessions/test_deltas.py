"""Contract S4, S8: deltas are split by scope, merged and validated."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runtime.sessions.state import ScopedState, as_json, without_temp

KEYS = st.builds(str.__add__, st.sampled_from(["", "app:", "user:", "temp:", "other:"]), st.text(max_size=4))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
).filter(lambda value: "\0" not in repr(value) and "\\x00" not in repr(value))


def test_a_delta_is_split_by_its_prefixes() -> None:
    """Contract S4."""
    scoped = ScopedState.split({"a": 1, "app:b": 2, "user:c": 3, "temp:d": 4, "user:app:e": 5, "App:f": 6})
    assert scoped == ScopedState(app={"b": 2}, user={"c": 3, "app:e": 5}, session={"a": 1, "App:f": 6})


@given(st.dictionaries(KEYS, st.integers()))
def test_merging_a_split_delta_restores_all_but_temp_keys(delta: dict[str, int]) -> None:
    """Contract S4."""
    assert ScopedState.split(delta).merged() == without_temp(delta)


@given(st.dictionaries(st.text(st.characters(codec="utf-8", exclude_characters="\0")), VALUES, max_size=3))
def test_json_values_are_copied_unchanged(delta: dict[str, Any]) -> None:
    """Contract S8."""
    result = as_json(delta)
    assert result == delta
    assert all(result[key] is not value for key, value in delta.items() if isinstance(value, list | dict))
