"""Footnotes in the Markdown of a model."""

from __future__ import annotations

import pytest

from sessions_app.rendering.markdown.growing import DrawingRate, GrowingMarkdown
from sessions_app.rendering.markdown.render import render_markdown


def test_a_mark_is_raised_and_its_footnote_begins_with_it() -> None:
    html = render_markdown("Blue[^1], red[^note].\n\n[^1]: https://a.example\n[^note]: A **word**")
    assert "<p>Blue<sup>1</sup>, red<sup>note</sup>.</p>" in html
    assert '<p class="footnote"><sup>1</sup> <a href="https://a.example"' in html
    assert '<p class="footnote"><sup>note</sup> A <strong>word</strong></p>' in html


@pytest.mark.parametrize("text", ["[^abc]", "[^a-z]", "`[^1]`", "    [^1]: code", "[^]", "[^ 1]", r"\[^1]"])
def test_other_brackets_stay_as_they_are(text: str) -> None:
    assert "<sup>" not in render_markdown(text)


@pytest.mark.parametrize("next_block", ["\n# After", "\n- After", "\n\nAfter", "\n[^2]: After", "\n> After"])
def test_a_footnote_ends_before_the_next_block(next_block: str) -> None:
    html = render_markdown("Text\n[^1]: A note\nof two lines" + next_block)
    assert '<p class="footnote"><sup>1</sup> A note<br>\nof two lines</p>' in html
    assert "After" in html.partition("of two lines</p>")[2]


def test_a_text_that_grows_shows_the_same_footnotes() -> None:
    text = "Blue[^1].\n\n[^1]: A note\n\nThe end.\n\n"
    markdown = GrowingMarkdown(DrawingRate())
    drawings = [drawing for character in text if (drawing := markdown.add(character))]
    finished = "".join(drawing.finished for drawing in drawings)
    assert finished == text[: text.index("The end.")]
    html = "".join(drawing.finished_html for drawing in drawings)
    assert html + render_markdown("The end.") == render_markdown(text)
