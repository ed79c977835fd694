"""Contract: the blocks of a growing text are rendered as they end, each once, as in the whole text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.rendering.finished_blocks import MAX_PARSED_CHARACTERS, FinishedBlocks
from sessions_app.rendering.markdown import render_markdown

MARKS = [
    "a",
    "b ",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "> ",
    "    ",
    "```",
    "# ",
    "|",
    "|-|\n",
    "***",
    "===",
    "`",
    "\r",
    "\t",
    "é",
    "[x]",
]


def rendered_pieces(chunks: list[str]) -> tuple[list[str], str]:
    """Let a text grow by the chunks; return the HTML of each step that rendered blocks, and the text behind them."""
    blocks, text, pieces = FinishedBlocks(), "", []
    for chunk in chunks:
        text += chunk
        html = blocks.render_next(text)
        if html is not None:
            pieces.append(html)
    return pieces, text[blocks.end :]


@given(st.lists(st.lists(st.sampled_from(MARKS), max_size=12).map("".join), max_size=12))
def test_the_pieces_and_the_rest_are_the_whole(chunks: list[str]) -> None:
    pieces, rest = rendered_pieces(chunks)
    assert "".join(pieces) + render_markdown(rest) == render_markdown("".join(chunks))


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("One\n\n", ["<p>One</p>\n"]),
        ("# One\n", []),
        ("# One\n\n", ["<h2>One</h2>"]),
        ("- one\n\n", []),  # an item may follow
        ("- one\n\nAnd\n", ["<ul>\n<li>one</li>\n</ul>\n"]),
        ("```py\na\n\n", []),  # the fence is open
        ("|a|\n|-|\n|1|\n", []),
    ],
)
def test_a_block_is_rendered_when_more_text_cannot_change_it(text: str, rendered: list[str]) -> None:
    assert rendered_pieces([text])[0] == rendered


def test_a_block_that_is_too_long_to_parse_stays_plain_and_so_does_the_rest() -> None:
    line = "x" * 99 + "\n"
    pieces, rest = rendered_pieces(
        ["Before\n\n", "```\n", *[line] * (MAX_PARSED_CHARACTERS // 100 + 1), "```\n\n", "After\n\n"]
    )
    assert pieces == ["<p>Before</p>\n"]
    assert rest.endswith("After\n\n")
