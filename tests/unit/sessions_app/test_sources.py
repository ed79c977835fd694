"""Sources of an answer in its HTML, from the grounding metadata of its event."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.fuzz.test_markdown import UNITS
from tests.unit.sessions_app.rendered import HOSTILE, Tags, assert_harmless, event_html

MARK = re.compile('<p><sup class="citation">(?:(?!</sup>).)*</sup></p>\n|<sup class="citation">.*?</sup>')


def web(name: str, **fields: str) -> dict[str, Any]:
    return {"web": {"title": f"Page {name}", "uri": f"https://{name}.example/", **fields}}


def support(end: int, *chunks: int, start: int = 0, **segment: Any) -> dict[str, Any]:
    return {
        "segment": {"startIndex": start, "endIndex": end, **segment},
        "groundingChunkIndices": list(chunks),
    }


def answer(
    *texts: str | dict[str, Any],
    chunks: list[dict[str, Any]] | None = None,
    supports: list[dict[str, Any]] | None = None,
    **body: Any,
) -> str:
    parts = [{"text": text} if isinstance(text, str) else text for text in texts]
    metadata = {"groundingChunks": chunks or [web("a"), web("b")], "groundingSupports": supports or []}
    return event_html(*parts, groundingMetadata=metadata, **body)


def prose(html: str) -> list[str]:
    """Return the answer's paragraphs, with the numbers of citations in brackets."""
    marked = re.sub('<sup class="citation">(.*?)</sup>', lambda mark: f"[{Tags(mark[1]).text}]", html)
    return re.findall('<div class="prose" dir="auto"><p>(.*?)</p>', marked, re.DOTALL)


def listed(html: str) -> list[str]:
    return [" ".join(Tags(item).text.split()) for item in re.findall("<li[ >].*?</li>", html, re.DOTALL)]


@pytest.mark.parametrize(
    "text", ["One. Two.", "Früh. Spät.", "日本。 東京。", "👩‍👩‍👧! 👍🏽?", "\ud800. \udc00."]
)
def test_positions_count_bytes_of_utf_8(text: str) -> None:
    first, _ = text.split(" ")
    end = len(first.encode(errors="surrogatepass"))
    whole = len(text.encode(errors="surrogatepass"))
    html = answer(text, supports=[support(end, 0), support(whole, 1, start=end + 1)])
    shown = text.replace("\ud800", "\ufffd").replace("\udc00", "\ufffd").split(" ")
    assert prose(html) == [f"{shown[0]}[1] {shown[1]}[2]"]


def test_a_position_within_a_character_or_behind_the_text_is_moved_to_an_end() -> None:
    assert prose(answer("é à", supports=[support(1, 0), support(99, 1), support(-3, 0)])) == ["é[1] à[2]"]


def test_sources_have_numbers_in_the_order_of_the_text_and_are_listed_once() -> None:
    chunks = [web("unused"), web("a"), web("b"), web("a", title="Another title")]
    html = answer(
        "One. Two. Three.", chunks=chunks, supports=[support(9, 3, 2), support(4, 2), support(16, 1)]
    )
    assert prose(html) == ["One.[1] Two.[2 1] Three.[2]"]
    assert listed(html) == ["Page b b.example", "Page a a.example"]


def test_without_references_all_sources_are_listed_without_numbers() -> None:
    html = answer("One.", chunks=[web("a"), web("a"), web("b")])
    assert prose(html) == ["One."]
    assert listed(html) == ["Page a a.example", "Page b b.example"]
    assert html.count('class="unnumbered"') == 2


def test_a_passage_is_found_in_its_part_and_by_its_text() -> None:
    thought = {"text": "Thinking.", "thought": True}
    named = support(4, 0, partIndex=1, text="Two.")
    shifted = support(13, 1, start=9, text="One.")
    elsewhere = support(3, 0, text="Not said.")
    html = answer(thought, "Two. ", "One.", supports=[named, shifted, elsewhere])
    assert prose(html)[-1] == "Two.[1] One.[2]"


def test_a_passage_that_is_not_in_the_answer_has_a_source_and_no_place() -> None:
    html = answer("One.", supports=[support(9, 1, text="Not said.")])
    assert prose(html) == ["One."] and listed(html) == ["Page b b.example"]
    assert 'class="unnumbered"' in html


@pytest.mark.parametrize(
    ("chunk", "words", "link"),
    [
        (web("a", uri="javascript:alert(1)"), "Page a", None),
        (web("a", uri="//evil.example/"), "Page a", None),
        (web("a", uri="https://a b.example/"), "Page a", None),
        (web("a", uri="https://a.example/\u202egnp"), "Page a", None),
        (web("a", uri="HTTPS://WWW.A.example/x"), "Page a a.example", "HTTPS://WWW.A.example/x"),
        (web("a", title="https://bank.example"), "https://bank.example a.example", "https://a.example/"),
        (web("a", title="a.example"), "a.example", "https://a.example/"),
        (web("a", title=""), "a.example", "https://a.example/"),
        (web("a", title="x\u202ey\nz"), r"x\u202ey z a.example", "https://a.example/"),
        (
            web(
                "a", title="b.example", uri="https://vertexaisearch.cloud.google.com/grounding-api-redirect/x"
            ),
            "b.example",
            "https://vertexaisearch.cloud.google.com/grounding-api-redirect/x",
        ),
        ({"retrievedContext": {"title": "Manual", "uri": "gs://bucket/manual.pdf"}}, "Manual", None),
        ({"retrievedContext": {"uri": "gs://bucket/manual.pdf"}}, "gs://bucket/manual.pdf", None),
        (
            {"maps": {"title": "Café", "uri": "https://maps.example/1"}},
            "Café maps.example",
            "https://maps.example/1",
        ),
    ],
)
def test_a_source_shows_its_title_and_the_host_of_its_link(
    chunk: dict[str, Any], words: str, link: str | None
) -> None:
    html = answer("One.", chunks=[chunk], supports=[support(4, 0)])
    assert listed(html) == [words]
    links = [attributes["href"] for attributes in Tags(html).all("a")]
    assert links == ([link, link] if link else [])


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_titles_and_addresses_are_harmless(text: str) -> None:
    chunks = [web("a", title=text), web("b", uri=f"https://b.example/{text}"), web("c", uri=text)]
    assert_harmless(answer(text, chunks=chunks, supports=[support(7, 0, 1, 2), support(9, 9, -1)]))


def test_a_list_of_many_sources_is_folded_and_bounded() -> None:
    few = answer("One.", chunks=[web(f"h{n}") for n in range(3)])
    many = answer("One.", chunks=[web(f"h{n}") for n in range(10_000)])
    assert '<details class="sources" open>' in few and "3 sources" in few
    assert '<details class="sources">' in many and len(listed(many)) == 100


def test_only_the_answer_of_an_agent_has_sources() -> None:
    assert "sources" not in answer("One.", author="user")
    assert "sources" not in answer({"functionCall": {"name": "price", "args": {}}})
    assert "sources" not in event_html({"text": "One."}, groundingMetadata={})


@settings(max_examples=150)
@given(
    pieces=st.lists(st.sampled_from(UNITS) | st.text(max_size=5), min_size=1, max_size=8),
    ends=st.lists(st.integers(0, 200), min_size=1, max_size=5),
)
def test_without_its_citations_an_answer_looks_as_without_sources(pieces: list[str], ends: list[int]) -> None:
    text = "".join(pieces)
    plain = event_html({"text": text}).partition("</article>")[0]
    assume(plain)  # Without words there is nothing to show, but sources alone are shown.
    html = answer(text, supports=[support(end, 0) for end in ends]).partition('<details class="sources"')[0]
    assert MARK.sub("", html).rstrip() == plain.rstrip()
