"""Citations in Markdown: links at positions of the text that change nothing else of what is shown."""

from __future__ import annotations

import re

import pytest

from sessions_app.rendering.markdown.citations import MAX_CITATIONS, Citation, Source
from sessions_app.rendering.markdown.render import render_markdown
from tests.unit.sessions_app.rendered import Tags

SOURCE = Source("A page", "a.example", "https://a.example/page", 1)
OTHER = Source("A book", number=2)
MARK = re.compile('<sup class="citation">.*?</sup>')


def cited(text: str) -> str:
    """Return the HTML of a text with a citation at each ¶, and `@` in place of the citation."""
    citations = []
    pieces = text.split("¶")
    for index in range(1, len(pieces)):
        citations.append(Citation(len("".join(pieces[:index])), (SOURCE,)))
    return MARK.sub("@", render_markdown("".join(pieces), citations))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("One.¶ Two.¶", "<p>One.@ Two.@</p>"),
        ("One.  ¶\n\nTwo.", "<p>One.@</p>\n<p>Two.</p>"),
        ("日本語です。¶次の文。¶", "<p>日本語です。@次の文。@</p>"),
        ("One.\r\nTwo.¶\r\n\r\nThree.¶", "<p>One.<br>\nTwo.@</p>\n<p>Three.@</p>"),
        ("👩\u200d¶👩\u200d👧 yes", "<p>👩\u200d👩\u200d👧@ yes</p>"),
        ("👍¶🏽 yes", "<p>👍🏽@ yes</p>"),
        ("e¶\u0301a", "<p>e\u0301@a</p>"),
        (r"a\*b¶ c &amp; d¶", "<p>a*b@ c &amp; d@</p>"),
        ("a **b.¶** c", "<p>a <strong>b.@</strong> c</p>"),
        ("a **b.**¶ c", "<p>a <strong>b.@</strong> c</p>"),
        ("a *¶*b** c", "<p>a @<strong>b</strong> c</p>"),
        ("***a*¶**b *c¶", "<p><em><strong>a@</strong></em>b *c@</p>"),
        ("~~a¶~~ b", "<p><s>a@</s> b</p>"),
        ("a `co¶de` b", "<p>a <code>code</code>@ b</p>"),
        ("# Head¶ ##\n\nText", "<h2>Head@</h2><p>Text</p>"),
        ("Head\n===¶\nText", "<h2>Head@</h2><p>Text</p>"),
        ("- [x] done¶ soon", '<ul>\n<li class="task">☑ done@ soon</li>\n</ul>'),
        ("> quoted\n> more¶ text", "<blockquote>\n<p>quoted<br>\nmore@ text</p>\n</blockquote>"),
        ("x  \ny¶", "<p>x<br>\ny@</p>"),
        ("a[^1]\n\n[^1]: Note¶ b", '<p>a<sup>1</sup></p>\n<p class="footnote"><sup>1</sup> Note@ b</p>'),
        ("[1]: https://a.exa¶mple\n\nText", "<p>@Text</p>"),
        ("", ""),
        ("¶", ""),
    ],
)
def test_a_citation_stands_at_its_position(text: str, html: str) -> None:
    assert cited(text).strip() == html


@pytest.mark.parametrize(
    "text",
    [
        "[te¶xt](https://b.example)",
        "[text](https://b.exa¶mple)",
        "[text](https://b.example¶)",
        "![te¶xt](https://b.example/i.png)",
        "https://b.exa¶mple",
        "<https://b.exa¶mple>",
        "[te¶xt][1]\n\n[1]: https://b.example",
    ],
)
def test_a_citation_in_a_link_follows_the_link(text: str) -> None:
    tags = Tags(render_markdown(text.replace("¶", ""), [Citation(text.index("¶"), (SOURCE,))]))
    assert [link["href"] for link in tags.all("a")][1:] == [SOURCE.url]
    assert re.search("</a>@</p>", cited(text))


def test_a_citation_follows_the_host_that_the_page_adds_to_a_link() -> None:
    assert "</a> \u2066(b.example)\u2069@ end" in cited("[https://bank.example¶](https://b.example) end")


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("```py\nco¶de\n```\nText", "</pre>\n<p>@</p>\n<p>Text</p>"),
        ("```\ncode\n```¶", "</pre>\n<p>@</p>"),
        ("    co¶de\n\nText", "</pre>\n<p>@</p>\n<p>Text</p>"),
        ("$$x^¶2$$\n\nText", "</div>\n<p>@</p>\n<p>Text</p>"),
        ("Then $a_1^¶2=3$ is", "</math>@ is</p>"),
    ],
)
def test_a_citation_in_code_or_a_formula_follows_it(text: str, end: str) -> None:
    assert cited(text).strip().endswith(end)


def test_citations_in_a_table_stay_in_their_cells() -> None:
    table = "| a |¶ b |\n|---|---|\n| x\\|x¶ | x¶ |\n| y\\|y¶ y | z |¶\n"
    cells = re.findall(r"<t[hd]>(.*?)</t[hd]>", cited(table))
    assert cells == ["a@", "b", "x|x@", "x@", "y|y@ y", "z@"]


def test_sources_of_one_place_are_one_citation_with_each_source_once() -> None:
    html = render_markdown("a", [Citation(1, (SOURCE, OTHER)), Citation(1, (SOURCE,))])
    assert re.search(r'<p>a<sup class="citation"><a [^>]+>1</a> 2</sup></p>', html)
    (link,) = Tags(html).all("a")
    assert link["href"] == SOURCE.url and link["target"] == "_blank" and "noopener" in (link["rel"] or "")
    assert link["aria-label"] == "Source 1: A page"


def test_a_hostile_title_or_url_stays_in_its_attribute() -> None:
    source = Source('"><script>alert(1)</script>', "", 'https://a.example/"onclick="alert(1)', 1)
    tags = Tags(render_markdown("a", [Citation(1, (source,))]))
    assert {name for name, _ in tags.found} == {"p", "sup", "a"}
    (link,) = tags.all("a")
    assert link["title"] == source.title and "onclick" not in link


@pytest.mark.parametrize("text", ['<sup class="citation">1</sup>', "<sup>1</sup>", "[1]", "\ue0001\ue001"])
def test_no_text_can_forge_a_citation(text: str) -> None:
    assert "citation" not in {
        tag["class"] for tag in Tags(render_markdown(text)).all("sup") if "class" in tag
    }


def test_a_text_with_many_citations_shows_the_first() -> None:
    html = render_markdown("a " * 1_000, [Citation(2 * n + 1, (SOURCE,)) for n in range(1_000)])
    assert len(MARK.findall(html)) == MAX_CITATIONS
