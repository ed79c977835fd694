"""Markdown of a model: any text becomes safe HTML, and takes little time."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import types
from runtime.events import Event
from sessions_app.base.codec import event_to_json
from sessions_app.conf import conf
from sessions_app.rendering import event_html
from sessions_app.rendering.markdown.growing import DrawingRate, GrowingMarkdown
from sessions_app.rendering.markdown.render import render_markdown
from sessions_app.rendering.session_view import SessionView
from tests.counted_calls import counted_calls
from tests.fuzz.profile import examples
from tests.fuzz.values import texts

MAX_CHARACTERS = 32_000
MAX_CALLS = {"render": 1_000_000, "loop": 200_000}
"""Function calls in the thread that renders and in the event loop's: about 0.2 and 0.04 seconds."""
UNITS = [
    *(
        "a",
        "word ",
        "a\n",
        "a\n\n",
        "\n",
        " ",
        "\t",
        "    code\n",
        "\\",
        "\\*",
        "&",
        "&amp;",
        "&#0;",
        "\0",
        "é",
        "😀",
    ),
    *(
        "*",
        "**",
        "_",
        "__",
        "*a",
        "**a",
        "*a_ ",
        "_a*",
        "a*b",
        "**a*",
        "***a** ",
        "~",
        "~~",
        "~~a",
        "*a **a ",
        "**「」**あ",
    ),
    *(
        "`",
        "``",
        "`a",
        "`` ` ",
        "```\n",
        "~~~\n",
        "```a\n",
        "[",
        "]",
        "![",
        "[a]",
        "[a](",
        "[a](b)",
        "![a](b) ",
        "[[",
    ),
    *(
        "[a](<",
        "[a](b 'c",
        "[a][b]",
        "[a]: b\n",
        "[a]: b\n\n[a]\n",
        "](",
        "[](",
        "[![a](b)](c) ",
        "(",
        ")",
        "((",
        "a](",
    ),
    *(
        "<",
        "<a",
        "<a ",
        "<!--",
        "<?",
        "<![CDATA[",
        "<http://a>",
        "<a@b>",
        "<b>",
        "</b>",
        "<br>",
        "<sub>",
        "<sup>a</sup>",
        "http://a.b ",
        "http://a.b/(",
        "http://",
        "http://a)",
        ")",
        "http://a、",
        "http://a.あ",
        "http://a@",
        "http://a/–",
        "www.a.b ",
        "[a.b](//c)",
    ),
    *(
        "> ",
        ">",
        "> > ",
        "- ",
        "-\n",
        "- a\n",
        "* ",
        "+ ",
        "1. ",
        "1. a\n",
        "- - ",
        "> - ",
        "> [!NOTE]\n\n",
        "  - a\n",
        "123456789. a\n",
    ),
    *("# ", "# a\n", "#", "###### a\n", "a\n===\n", "a\n---\n", "---\n", "***\n", "===\n", "- ---\n"),
    *("|", "| a ", "|a|b|\n", "|-|-|\n", "|a|\n|-|\n|b|\n", "a|b\n-|-\n", "|:-:|", "\\|", "`|`|"),
    *(
        "$x^2$ ",
        "$x_1",
        "$x^",
        "$\\sqrt",
        "$$\nx^2\n$$\n\n",
        "$$\nx\n",
        "\\(",
        "\\(x\\) ",
        "\\[",
        "\\[x\\]\n",
        "$\\frac$ ",
        "$O(n)$ ",
        "$\\$",
        "$5word",
        "\\[\n",
        "$$a\n",
        "\\[\nx\n\n\\]\n",
        "> \\[\n",
    ),
    *("{", "}", "$", "$$a$$", "^a^", "==a==", ":a:", "[ ] ", "- [x] a\n", "[^1]", "[^1]: a\n"),
]
FETCHES = r"<(?:script|style|iframe|img|svg|object|form|input)"
RUNS = r"<[^>]*\son\w+\s*=|<[^>]*(?:href|src)=\"(?!https?:|mailto:)"


def too_slow(text: str) -> dict[str, int]:
    """Return the calls of each thread that the text occupies for too long: the one that renders, the event loop's."""
    content = types.Content(role="model", parts=[types.Part(text=text)])
    event = Event(author="echo", content=content)
    works: dict[str, Callable[[], object]] = {
        "render": partial(render_markdown, text),
        "loop": partial(in_the_loop, event, event_to_json(event)),
    }
    calls = {thread: calls_of(work) for thread, work in works.items()}
    return {thread: count for thread, count in calls.items() if count > MAX_CALLS[thread]}


def calls_of(work: Callable[[], object]) -> int:
    with counted_calls() as count:
        work()
        return count()


def in_the_loop(event: Event, body: str) -> None:
    """Do what the event loop does for a committed event."""
    event_html.cache.clear()
    event_html.html_now(SessionView(uuid4(), "help_desk"), 1, event, body)


def test_a_construct_that_fills_a_message_takes_little_time() -> None:
    for unit in UNITS:
        assert too_slow((unit * MAX_CHARACTERS)[:MAX_CHARACTERS]) == {}, unit


def test_a_construct_that_is_just_within_the_limits_takes_little_time() -> None:
    for unit in UNITS:
        marks = max(1, sum(not sign.isalnum() and sign != " " for sign in unit))
        text = unit * min(MAX_CHARACTERS // len(unit), conf().markdown_marks // marks)
        assert too_slow(text) == {}, unit


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("*", "*"), ("[", "]"), ("[", "](a)"), ("![", "](a)"), ("**a ", " b**"), ("> ", "")],
)
@pytest.mark.parametrize("length", [MAX_CHARACTERS, 4_000])
def test_a_construct_inside_itself_takes_little_time(opening: str, closing: str, length: int) -> None:
    times = length // len(opening + closing)
    assert too_slow(opening * times + closing * times) == {}


@given(st.lists(st.sampled_from(UNITS), min_size=2, max_size=5), st.booleans())
@examples(30)
def test_mixed_constructs_take_little_time(units: list[str], is_in_blocks: bool) -> None:
    share = MAX_CHARACTERS // len(units)
    text = (
        "".join((unit * share)[:share] for unit in units)
        if is_in_blocks
        else ("".join(units) * MAX_CHARACTERS)[:MAX_CHARACTERS]
    )
    assert too_slow(text) == {}


def test_a_paragraph_with_too_many_marks_loses_its_markup_and_the_others_keep_theirs() -> None:
    marks = "[" * (conf().markdown_marks + 1)
    html = render_markdown(f"*before*\n\n{marks}\n\n```\ncode\n```")
    assert "<em>before</em>" in html
    assert marks in html
    assert "<code>code" in html


def test_lines_beyond_the_limit_are_shown_as_they_are() -> None:
    html = render_markdown("# a\n" * (conf().markdown_lines + 2))
    assert html.count("<h2>a</h2>") == conf().markdown_lines
    assert "# a\n# a\n</code>" in html


@given(st.lists(st.one_of(st.sampled_from(UNITS), texts), max_size=20))
@examples(200)
def test_no_text_becomes_html_that_runs_or_fetches(pieces: list[str]) -> None:
    html = render_markdown("".join(pieces))
    assert not re.search(f"{FETCHES}|{RUNS}", html)


def test_a_construct_that_streams_takes_little_time_of_the_loop() -> None:
    for unit in UNITS:
        text = (unit * MAX_CHARACTERS)[:MAX_CHARACTERS]
        assert calls_of(partial(GrowingMarkdown(DrawingRate()).add, text)) <= MAX_CALLS["loop"], unit
