"""Strategies for odd texts, names and JSON values."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

RTL = "\u202egnp.exe"
NAMES = [
    *("items", "keys", "values", "get", "pop", "forloop", "block", "request", "self", "csrf_token"),
    *("__class__", "__init__", "__dict__", "0", "1", "", " ", ".", "a.b", "a|safe", "{{ x }}", "{% x %}"),
    *(
        "<script>",
        '"',
        "'",
        "&amp;",
        "k" * 200,
        RTL,
        "\u200b",
        "\u0301",
        "\ufeff",
        "temp:x",
        "user:x",
        "app:x",
    ),
]
TEXTS = [
    *NAMES,
    *(
        "\0",
        "a\0b",
        "\x1b[31m",
        "\r\n",
        "\u2028",
        "\U0001f469\u200d\U0001f680",
        "\ud800",
        "\udfff",
        "%00",
        "%s %d {0}",
    ),
    *("<script>alert(1)</script>", "javascript:alert(1)", "../../etc/passwd", "' OR 1=1 --", "\\", "\\u0000"),
    *("9" * 5000, "-1", "0x10", "1e400", "NaN", "null", "true", "²", "٣", "x" * 10_000, "\n" * 500),
]
NUMBERS = [0, -1, 1, 2**31, 2**63, -(2**63), 2**64, 10**30, 10**400, 0.1, -0.0, 1e308, 5e-324]
SPECIAL_NUMBERS = [float("nan"), float("inf"), float("-inf")]

texts = st.one_of(st.sampled_from(TEXTS), st.text(max_size=30))
names = st.one_of(st.sampled_from(NAMES), st.text(max_size=30))
scalars = st.one_of(st.none(), st.booleans(), st.sampled_from(NUMBERS), st.integers(), texts)
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(names, inner, max_size=4)),
    max_leaves=8,
)


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    """JSON that is nested so deeply."""
    return opening * depth + "1" + closing * depth


def storable(value: Any) -> Any:
    """The value as PostgreSQL's jsonb can hold it: without NUL, half surrogate pairs and immense numbers."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
    return json.loads(text.replace("\\u0000", "\ufffd"))
