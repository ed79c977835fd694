"""`event_html`: no text stops the event loop for long, none is lost, and HTML is cached within a limit."""

from __future__ import annotations

import asyncio
import html as html_module
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from runtime.events import Event
from sessions_app.base.codec import event_to_json
from sessions_app.rendering import event_html as module
from sessions_app.rendering.event_html import cache, event_html, html_now
from sessions_app.rendering.markdown.render import render_markdown
from sessions_app.rendering.session_view import SessionView
from tests.counted_calls import counted_calls
from tests.fakes import text_content
from tests.unit.sessions_app.rendered import Tags

MAX_CALLS_ON_THE_LOOP = 200_000
"""Function calls of about 40 milliseconds: on a machine of 2026 one takes 0.2 microseconds in the renderer."""
MAX_CHARACTERS = 32_000
WIDE_TABLE = "|a" * 250 + "|\n" + "|-" * 250 + "|\n" + "|\n" * 250
PIECES = (
    *(
        "![",
        "[",
        "](",
        "[a](b)",
        "<a@b.c>",
        "a*",
        "*a **b ",
        "`a",
        "``",
        "__",
        "~~",
        "\\",
        "&amp;",
        "&#1;",
        "<",
    ),
    *(
        "> ",
        "- ",
        "1. ",
        "  ",
        "\n",
        "\n\n",
        "```\n",
        "# a\n",
        "***",
        "a\n---\n",
        "|",
        "|-",
        "|\n",
        "a|b\n-|-\n",
    ),
    *("[a]: b\n", "a ", "word", "{", '"k": 1,', "\u202e", "\0"),
)


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    cache.clear()


def answer(text: str) -> Event:
    return Event(id="id", author="agent", invocation_id="e-1", content=text_content(text))


def calls_to_render(text: str) -> int:
    """Return the number of function calls that rendering takes."""
    with counted_calls() as count:
        render_markdown(text)
        return count()


def calls_on_the_loop(event: Event) -> int:
    """Return the largest number of function calls in the loop's thread without a pause while an event is rendered."""

    async def measure() -> int:
        rendering = asyncio.create_task(
            event_html(SessionView(uuid4(), "help_desk"), 1, event, event_to_json(event))
        )
        longest = 0
        while not rendering.done():
            with counted_calls() as count:
                await asyncio.sleep(0)
                longest = max(longest, count())
        await rendering
        return longest

    return asyncio.run(measure())


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4), st.integers(1, MAX_CHARACTERS))
def test_no_answer_of_32_kb_takes_the_event_loop_for_long(pieces: list[str], length: int) -> None:
    event = answer(("".join(pieces) * length)[:length])
    assert calls_on_the_loop(event) < MAX_CALLS_ON_THE_LOOP


@pytest.mark.parametrize("copies", [1, 3])
def test_a_huge_table_is_shown_as_it_is_and_takes_no_time(copies: int) -> None:
    text = "before\n\n" + "\n\n".join([WIDE_TABLE] * copies) + "\n\nafter"
    tags = Tags(render_markdown(text))
    assert tags.all("td") == [] and "|a|a|a" in tags.text and "after" in tags.text
    assert calls_to_render(text) < MAX_CALLS_ON_THE_LOOP
    assert calls_on_the_loop(answer(text)) < MAX_CALLS_ON_THE_LOOP


def test_tables_within_the_limit_stay_tables() -> None:
    table = "|a|b|\n|-|-|\n" + "|1|2|\n" * 100 + "\n"
    assert len(Tags(render_markdown(table * 2)).all("td")) == 400


@pytest.mark.parametrize("mark", ["> ", "- ", "1. ", "> - "])
def test_text_that_is_nested_too_deep_is_shown_as_it_is(mark: str) -> None:
    text = Tags(render_markdown(mark * 60 + "deep\n\nafter")).text
    assert "deep" in text and "after" in text


def test_text_beyond_the_limit_of_length_is_shown_as_it_is(settings: Settings) -> None:
    settings.ADK = {"markdown_limit": 20}
    html = render_markdown("**first**\n\nsecond *line*\nthird *line*\n")
    assert "<strong>first</strong>" in html
    assert "second *line*\nthird *line*" in html_module.unescape(Tags(html).text)


def test_what_takes_long_is_not_rendered_at_once_and_then_comes_from_the_cache() -> None:
    event, view = answer("[" * MAX_CHARACTERS), SessionView(uuid4(), "help_desk")
    body = event_to_json(event)
    assert html_now(view, 1, event, body) is None
    html = asyncio.run(event_html(view, 1, event, body))
    assert "[" * MAX_CHARACTERS in html and html_now(view, 1, event, body) == html


def test_a_result_of_megabytes_is_not_searched_for_marks() -> None:
    class Unsearched(str):
        def count(self, *_: object) -> int:
            raise AssertionError("searched")

    event, view = answer("hi"), SessionView(uuid4(), "help_desk")
    assert html_now(view, 1, event, Unsearched("x" * 5_000_000)) is None


def test_an_event_is_rendered_once_and_the_cache_is_bounded_by_bytes(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ADK = {"cached_html_bytes": 50_000}
    rendered = []

    def render(view: SessionView, seq: int, event: Event, jobs: Any) -> str:
        rendered.append(seq)
        return "x" * 10_000

    monkeypatch.setattr(module, "render_event", render)
    view, event = SessionView(uuid4(), "help_desk"), answer("hi")
    for seq in (1, 1, 2, 3, 4, 5, 6, 6, 1):
        html_now(view, seq, event, "{}")
    assert rendered == [1, 2, 3, 4, 5, 6, 1]
