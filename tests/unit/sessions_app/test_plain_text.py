"""Plain text of a piece of Markdown around a word that a search has found."""

from __future__ import annotations

import pytest

from sessions_app.sessions.list.plain_text import plain_pieces

ANSWER = """## Our lamps

| Lamp | **Price** |
|---|--:|
| Desk *Ada* | 49 € |

- [see the shop](https://shop.example/lamps?a=b) for `order_id`
1. 2 * 3 is ~~five~~ __six__ in snake_case
"""
PLAIN = "Our lamps Lamp Price Desk Ada 49 € see the shop for order_id 2 * 3 is five six in snake_case"


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("Price", PLAIN.replace("Price", "[Price]")),
        ("order", PLAIN.replace("order", "[order]")),
        ("case", PLAIN.replace("case", "[case]")),
        ("shop.example", f"{PLAIN} []"),
    ],
)
def test_marks_and_addresses_are_left_out(word: str, line: str) -> None:
    before, _, after = ANSWER.partition(word)
    plain_before, plain_word, plain_after = plain_pieces(before, word, after)
    assert f"{plain_before}[{plain_word}]{plain_after}".strip() == line


def test_a_private_character_of_the_text_marks_no_word() -> None:
    assert plain_pieces("a \ue000b\ue001 ", "word", " c") == ("a b ", "word", " c")
