"""`outline`: JSON values as text for people."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.rendering.outline import outline


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("two\nlines", "two\nlines"),
        (True, "yes"),
        (None, "none"),
        ({}, "none"),
        ([], "none"),
        (12.5, "12.5"),
        ({"order_id": 7, "items": []}, "Items: none\nOrder id: 7"),
        ({"items": [{"name": "Lamp", "count": 2}, "x"]}, "Items:\n  - Count: 2\n    Name: Lamp\n  - x"),
        ({"note": "a\nb"}, "Note:\n  a\n  b"),
        ([[1, 2], 3], "- - 1\n  - 2\n- 3"),
    ],
)
def test_a_value_becomes_labelled_lines(value: Any, text: str) -> None:
    assert outline(value) == text


def test_values_that_are_nested_deep_end_as_json() -> None:
    value: Any = "deep"
    for _ in range(200):
        value = {"a": value}
    assert outline(value).endswith('"deep"' + "}" * 194)
