"""Growing text with its HTML: an estimate of its memory, readers that join late, and no work for a text that is cut."""

from __future__ import annotations

import pytest

from sessions_app.chat.drawn_text import DrawnText, draw_next, drawn_so_far
from sessions_app.live.streamed_text import GrowingText, StreamKey


@pytest.fixture
def text() -> GrowingText:
    stream = StreamKey(1, "invocation", "event", "agent", thought=False)
    return GrowingText(stream, is_local=True)


def add(text: GrowingText, piece: str) -> DrawnText | None:
    text.add(piece)
    text.take_pending()
    return draw_next(text)


def drawn(text: GrowingText, piece: str) -> DrawnText:
    changed = add(text, piece)
    assert changed is not None
    return changed


def test_the_estimate_counts_the_text_and_its_html(text: GrowingText) -> None:
    first = drawn(text, "One\n\nTwo\n\nrest")
    assert first == DrawnText(0, 10, "<p>One</p>\n<p>Two</p>\n", 14, "<p>rest<wbr></p>\n")
    assert text.bytes == 2 * text.length + len(first.html) + len(first.open_html)
    text.cut()
    assert text.bytes == 0
    assert draw_next(text) is None
    assert drawn_so_far(text) is None


def test_a_reader_who_joins_late_gets_what_the_others_have(text: GrowingText) -> None:
    add(text, "One 💡\n\n- two")
    more = drawn(text, "\n\nThree **fo")
    text.add("ur** that is not published yet")
    assert more == DrawnText(
        8, 15, "<ul>\n<li>two</li>\n</ul>\n", 25, "<p>Three <strong>fo<wbr></strong></p>\n"
    )
    assert drawn_so_far(text) == DrawnText(
        0, 15, "<p>One 💡</p>\n<ul>\n<li>two</li>\n</ul>\n", more.open_end, more.open_html
    )


def test_the_pieces_of_a_text_are_not_joined_to_draw_it(text: GrowingText) -> None:
    add(text, "```\nx\n")
    for _ in range(3):
        assert add(text, "more\n") is None
    assert len(text.pieces) == 4
    assert text.whole().text.endswith("x\nmore\nmore\nmore\n")
