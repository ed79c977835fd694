"""Growing text: an estimate of its memory, and no work for a text that is rendered no further."""

from __future__ import annotations

import pytest

from sessions_app.chat.streamed_blocks import RenderedBlocks, blocks_so_far, next_blocks
from sessions_app.live.streamed_text import GrowingText, StreamKey
from sessions_app.rendering.finished_blocks import MAX_PARSED_CHARACTERS


@pytest.fixture
def text() -> GrowingText:
    stream = StreamKey(1, "invocation", "event", "agent", thought=False)
    return GrowingText(stream, is_local=True)


def add(text: GrowingText, piece: str) -> RenderedBlocks | None:
    text.add(piece)
    text.take_pending()
    return next_blocks(text)


def test_the_estimate_counts_the_text_and_its_html(text: GrowingText) -> None:
    rendered = add(text, "One\n\nTwo\n\nrest")
    assert rendered is not None and rendered.html == "<p>One</p>\n<p>Two</p>\n"
    more = add(text, "\n\nThree")
    assert more is not None
    assert text.bytes == 2 * text.length + len(rendered.html) + len(more.html)
    text.cut()
    assert text.bytes == 0 and blocks_so_far(text) is None


def test_the_pieces_of_a_text_that_is_rendered_no_further_are_not_joined(text: GrowingText) -> None:
    assert add(text, "```\n" + "x\n" * MAX_PARSED_CHARACTERS) is None
    for _ in range(3):
        assert add(text, "more\n") is None
    assert len(text.pieces) == 4
    assert text.whole().text.endswith("x\nmore\nmore\nmore\n")
