"""`outline`: JSON values as text for people."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.rendering.outline import one_line, outline
from sessions_app.secrets.masking import mask_text


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
    assert outline(value, 1_000) == (text, False)


def test_values_that_are_nested_deep_end_as_json() -> None:
    value: Any = "deep"
    for _ in range(200):
        value = {"a": value}
    text, is_cut = outline(value, 10_000)
    assert text.endswith('"deep"' + "}" * 194) and not is_cut


@pytest.mark.parametrize(
    "value", ["x" * 50, ["x" * 30] * 2, {"a": "x", "b": {"c": ["x" * 50]}}, list(range(100))]
)
def test_no_more_than_the_longest_text_is_written(value: Any) -> None:
    text, is_cut = outline(value, 20)
    assert len(text) == 20 and is_cut


@pytest.mark.parametrize(
    ("value", "line"), [("a\nb\r\nc", "a b c"), ("a  b", "a  b"), ({"a": "b\n"}, '{"a": "b\\n"}'), ("", "")]
)
def test_a_value_on_one_line_has_no_line_break(value: Any, line: str) -> None:
    assert one_line(value) == line


@pytest.mark.parametrize("length", range(140, 200, 5))
@pytest.mark.parametrize("secret", ["postgres://app:Tr0ub4dor-pw@db", "4111 1111 1111 1111"])
def test_no_line_ends_within_a_secret(secret: str, length: int) -> None:
    value = {"note": f"{'z' * length} {secret} {'z' * length}"}
    for shown in (outline(value, 200)[0], one_line(value)):
        assert "zzz" in shown and len(shown) <= 201
        assert not any(part in mask_text(shown) for part in ("Tr0ub", "4111"))
