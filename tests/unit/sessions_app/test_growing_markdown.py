"""Contract: a growing Markdown text is drawn as what it is from its first line on, at a cost linear in its length.

A raw character is a visible character of the page behind the place where the page departs from the text of the complete
answer. White space does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape
from os.path import commonprefix

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sessions_app.conf import conf
from sessions_app.rendering.markdown.growing import (
    CHARACTERS_PER_SECOND,
    EARNED_AT_FIRST,
    EARNED_PER_CHARACTER,
    MAX_CHARACTERS,
    MAX_LEAD_SECONDS,
    DrawingRate,
    GrowingMarkdown,
    TextDrawing,
)
from sessions_app.rendering.markdown.open_block import PLACE
from sessions_app.rendering.markdown.render import render_markdown
from tests.recorded_answer import PIECE, RECORDED

SECONDS = 0.04
"""Time between two pieces of the recorded answer."""
MAX_RAW = 80
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
    "[x](",
    "$",
    "~~",
]


class Page:
    """What a page shows of a growing text."""

    def __init__(self) -> None:
        self._now = 0.0
        self.markdown = GrowingMarkdown(DrawingRate(lambda: self._now))
        self.text = ""
        self.finished = ""
        self.finished_text = ""
        self._visible = ""
        self.drawing = TextDrawing("", "", "", PLACE)
        self.drawings = 0

    def add(self, piece: str, seconds: float = SECONDS) -> None:
        self._now += seconds
        self.text += piece
        drawing = self.markdown.add(piece)
        if drawing:
            self.finished += drawing.finished_html
            self._visible += visible(drawing.finished_html)
            self.finished_text += drawing.finished
            self.drawing = drawing
            self.drawings += 1

    @property
    def html(self) -> str:
        """HTML with the text that was not drawn yet at its place."""
        return self.finished + self._open

    @property
    def visible(self) -> str:
        """Visible characters of the HTML."""
        return self._visible + visible(self._open)

    @property
    def _open(self) -> str:
        tail = self.text[len(self.finished_text) + len(self.drawing.open) :]
        return self.drawing.open_html.replace(PLACE, escape(tail))

    @property
    def rest(self) -> str:
        """Text behind the finished blocks."""
        return self.text[len(self.finished_text) :]


def grow(text: str, length: int = PIECE) -> Iterator[Page]:
    """Yield the page after each piece of the text."""
    page = Page()
    for start in range(0, len(text), length):
        page.add(text[start : start + length])
        yield page


def grown(text: str, length: int = PIECE) -> Page:
    *_, page = grow(text, length)
    return page


def visible(html: str) -> str:
    return re.sub(r"\s+", "", unescape(re.sub(r"<[^>]*>", "", html)))


def raw_characters(shown: str, whole: str) -> int:
    return len(shown) - len(commonprefix([shown, whole]))  # noqa: RUF071 - of texts, not of paths


@given(st.lists(st.lists(st.sampled_from(MARKS), max_size=12).map("".join), max_size=12))
@example(["\na\r***", "a"])
def test_the_finished_blocks_and_the_rest_are_the_whole(chunks: list[str]) -> None:
    page = Page()
    for chunk in chunks:
        page.add(chunk)
    assert page.finished + render_markdown(page.rest) == render_markdown("".join(chunks))


@pytest.mark.parametrize(("length", "end"), [(1, 800), (PIECE, len(RECORDED)), (40, len(RECORDED))])
def test_no_more_than_a_few_raw_characters_of_a_recorded_answer_are_ever_shown(length: int, end: int) -> None:
    whole = visible(render_markdown(RECORDED))
    assert max(raw_characters(page.visible, whole) for page in grow(RECORDED[:end], length)) <= MAX_RAW


def test_a_complete_answer_is_the_answer_as_it_was_drawn() -> None:
    page = grown(RECORDED)
    assert page.finished + render_markdown(page.rest) == render_markdown(RECORDED)
    assert len(page.rest) < 300
    page.add("\n\nThe end.\n\n")
    assert page.html.startswith(render_markdown(RECORDED))


def test_plain_words_and_code_are_not_drawn_again() -> None:
    page = Page()
    page.add("Words, ")
    for _ in range(20):
        page.add("and more words ")
    assert page.drawings == 1
    page.add("\n\n```python\nfor lamp in lamps:\n")
    drawings = page.drawings
    for _ in range(1_000):
        page.add("    print(`lamp`)  # **on**\n")
    assert page.drawings == drawings
    assert page.html.count("print(`lamp`)  # **on**") == 1_000
    page.add("```\n")
    assert page.drawings == drawings + 1


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("A **bold wor", "<p>A <strong>bold wor<wbr></strong></p>\n"),
        ("A ***bold", "<p>A <em><strong>bold<wbr></strong></em></p>\n"),
        ("~~gone", "<p><s>gone<wbr></s></p>\n"),
        ("snake_case, 2*3", "<p>snake_case, 2*3<wbr></p>\n"),
        ("A `code", "<p>A <code>code<wbr></code></p>\n"),
        ("日本語：**「電", "<p>日本語：<strong>「電<wbr></strong></p>\n"),
        ("[page](https://exam", '<p><a target="_blank" rel="noopener noreferrer nofollow">page</a></p>\n'),
        ("A formula $x_1", "<p>A formula …</p>\n"),
        ("$$\n\\frac{1}", "<p>…</p>\n"),
        ("- one\n- **t", "<ul>\n<li>one</li>\n<li><strong>t<wbr></strong></li>\n</ul>\n"),
        ("- one\n-", "<ul>\n<li>one</li>\n</ul>\n"),
        ("Words\n--", "<p>Words</p>\n"),
        ("> quoted *w", "<blockquote>\n<p>quoted <em>w<wbr></em></p>\n</blockquote>\n"),
        ("```py", '<pre tabindex="0"><code></code></pre>\n'),
        ("```py\nx", '<pre tabindex="0" data-language="py"><code>x<wbr></code></pre>\n'),
        ("```py\nx\n```", '<pre tabindex="0" data-language="py"><code>x\n</code></pre>\n'),
        ("```\n| x", '<pre tabindex="0"><code>| x<wbr></code></pre>\n'),
    ],
)
def test_what_is_not_closed_yet_is_drawn_as_what_it_will_be(text: str, html: str) -> None:
    assert grown(text, len(text)).drawing.open_html == html


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("| Lamp | Vo", ["Lamp", "Vo<wbr>"]),
        ("| Lamp | Volts |", ["Lamp", "Volts"]),
        ("| Lamp | Volts |\n|--", ["Lamp", "Volts"]),
        ("|a|b|\n|-|-|\n|1", ["a", "b", "1<wbr>", ""]),
        ("|a|b|\n|-|-|\n|1|", ["a", "b", "1", "<wbr>"]),
        ("|a|b|\n|-|-|\n|1|2|", ["a", "b", "1", "2"]),
    ],
)
def test_a_table_is_drawn_from_its_head_on_and_cell_by_cell(text: str, cells: list[str]) -> None:
    html = grown(text, len(text)).drawing.open_html
    assert re.findall(r"<t[hd]>(.*?)</t[hd]>", html) == cells


ENDLESS = {
    "table": ("| a | b |\n|---|---|\n", "| one | **two** |\n"),
    "list": ("", "- an item with `code`\n"),
    "paragraph": ("", "words and **bold** ones "),
    "quotation": ("", "> quoted *words*\n"),
    "brackets": ("", "[" * 14),
    "emphasis": ("", "*a **b "),
    "formulas": ("", "$x^2$ and \\(y"),
    "code": ("```python\n", "print(1), print(2)\n"),
    "nested code": ("- item\n  ```\n", "  print(1), print(2)\n"),
    "strange": ("", "\0\u202e\ufffd` "),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_the_cost_of_an_endless_block_is_linear_and_the_text_after_it_is_drawn(kind: str) -> None:
    start, unit = ENDLESS[kind]
    page = Page()
    page.add(start)
    for _ in range(6_000 // len(unit)):
        page.add(unit)
    limit = EARNED_AT_FIRST + EARNED_PER_CHARACTER * len(page.text)
    assert page.markdown.rendered_characters <= limit
    if kind != "code":
        assert len(page.rest) <= 2 * MAX_CHARACTERS
    page.add("\n```\n\n" if kind == "code" else "\n\n")
    for _ in range(100):
        page.add("\n\nA **last** word, and a little more.\n\n")
    assert "<p>A <strong>last</strong> word" in page.html


def test_a_table_that_was_split_goes_on_as_a_table_without_a_second_head() -> None:
    start, row = ENDLESS["table"]
    page = grown(start + row * 300 + "\nWords after it.\n\nMore\n")
    assert page.html.count("<thead>") == 1
    assert page.html.count("<td>one</td>") == 300
    assert "<p>Words after it.</p>" in page.html


def test_text_beyond_the_limit_is_code_and_takes_no_work() -> None:
    text = "Words.\n\n" * (conf().markdown_limit // 8) + "**beyond** " * 1_000
    page = grown(text, 2_000)
    assert page.html == render_markdown(text)
    drawings = page.drawings
    for _ in range(10_000):
        page.add("**much** more, ")
    assert page.drawings == drawings


def test_many_texts_that_grow_at_once_are_drawn_less_often_but_all_of_them() -> None:
    now = [0.0]
    rate = DrawingRate(lambda: now[0])
    texts = [GrowingMarkdown(rate) for _ in range(40)]
    drawn = [0] * len(texts)
    for start in range(0, 1_500, PIECE):
        now[0] += SECONDS
        for number, text in enumerate(texts):
            drawn[number] += text.add(RECORDED[start : start + PIECE]) is not None
    alone = grown(RECORDED[:1_500]).markdown.rendered_characters
    all_of_them = sum(text.rendered_characters for text in texts)
    assert all_of_them <= (now[0] + MAX_LEAD_SECONDS) * CHARACTERS_PER_SECOND + MAX_CHARACTERS
    assert all_of_them < 0.8 * len(texts) * alone
    assert min(drawn) > max(drawn) / 2
