"""Rendering of a model's Markdown to safe HTML.

A model repeats texts of files, pages and tools, so its Markdown may be an attacker's. Two defences: HTML in the text is
escaped during rendering, and the rendered HTML is sanitised. Images become links: an image's address could carry
words of the conversation to another server as soon as the page is shown.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import nh3
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from runtime.valid_text import storable
from sessions_app.conf import conf
from sessions_app.rendering.markdown.citations import CITATIONS, MAX_CITATIONS, Citation, show_citations
from sessions_app.rendering.markdown.emphasis import delimit_unspaced_words
from sessions_app.rendering.markdown.extras import TITLES, show_alerts, show_footnotes, show_inline_tags
from sessions_app.rendering.markdown.limits import limit_markdown, split_at_limit
from sessions_app.rendering.markdown.links import link_bare_urls, show_link_targets
from sessions_app.rendering.markdown.mathematics import ATTRIBUTES, TAGS, show_mathematics
from sessions_app.rendering.markdown.open_block import (
    LEAF,
    OPEN,
    PLACE,
    Place,
    completed,
    draw_open_ends,
    is_end_of_fence,
    place_in,
)

LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
LINE_END = re.compile(r"\r\n?|\n")
OVERRIDES = re.compile("[\u202d\u202e]")
"""Characters that make a browser draw the rest of a paragraph in another order."""
BLANK_LINE = re.compile(r"\n[ \t]*\n\Z")
MAX_SHORT_CELL_LENGTH = 20
ENDED_BY_A_BLANK_LINE = {"paragraph_open", "heading_open", "table_open", "hr"}
TASK = re.compile(r"\[([ xX])\](?=\s)")
"""Mark at the beginning of an item of a task list (GitHub Flavored Markdown, section 5.3)."""

_cleaner = nh3.Cleaner(
    tags={
        *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "a", "div", "sub", "sup", "wbr"),
        *("ul", "ol", "li", "h2", "h3", "h4", "h5", "h6"),
        *("table", "thead", "tbody", "tr", "th", "td"),
        *TAGS,
    },
    attributes={
        **ATTRIBUTES,
        "a": {"href", "title", "aria-label"},
        "ol": {"start"},
        "pre": {"data-language", "tabindex"},
        "div": {"tabindex", "role", "aria-label"},
    },
    allowed_classes={
        "div": {"scroll", "alert", *TITLES},
        "li": {"task"},
        "p": {"footnote", "alert-title"},
        "sup": {"citation"},
        "th": {"left", "center", "right", "long"},
        "td": {"left", "center", "right", "long"},
        "mtd": {"left", "center", "right"},
    },
    link_rel="noopener noreferrer nofollow",
    set_tag_attribute_values={"a": {"target": "_blank"}},
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
)


def render_markdown(text: str, citations: Sequence[Citation] = ()) -> SafeString:
    """Render Markdown as sanitised HTML without embedded HTML, scripts or images. Links open in a new tab.

    Args:
        citations: references to sources, shown as numbered links.
    """
    parsed, rest = split_at_limit(storable(text), conf().markdown_limit, conf().markdown_lines)
    html = _markdown.render(parsed, {CITATIONS: _in_normalized(parsed, citations)})
    if rest:
        html += _code_block(rest)
    return mark_safe(_cleaner.clean(html))  # noqa: S308  (sanitised here)


def _in_normalized(text: str, citations: Iterable[Citation]) -> list[Citation]:
    """Return the citations of a text, placed as the parser sees it: with one character for each line end."""
    placed = [citation for citation in citations if citation.position <= len(text)][:MAX_CITATIONS]
    if "\r\n" not in text:
        return placed
    moved = []
    for citation in placed:
        line_ends = text.count("\r\n", 0, citation.position)
        moved.append(replace(citation, position=citation.position - line_ends))
    return moved


def is_long_cell(text: str) -> bool:
    """True if a table cell needs room for some words on a line; a phone shows a shorter text on one line."""
    return len(text) > MAX_SHORT_CELL_LENGTH


def render_open_block(text: str) -> tuple[SafeString, Place]:
    """Render the beginning of a block, closed provisionally; return its HTML and the place where text continues."""
    parsed, has_place = completed(storable(text))
    env: dict[str, Any] = {OPEN: True}
    html = _cleaner.clean(_markdown.render(parsed, env))
    if not has_place:
        html = html.replace(PLACE, "")
    return mark_safe(html), place_in(env, html)  # noqa: S308  (sanitised here)


def start_of_open_block(text: str) -> int:
    """Return the position of the last block if further text may change it, else the end of the text.

    Return 0 for a text without any block.

    Args:
        text: complete lines.
    """
    tokens: list[Token] = []
    _markdown.block.parse(LINE_END.sub("\n", text), _markdown, {}, tokens)
    tops = [token for token in tokens if token.level == 0 and token.map]
    if not tops:
        return 0
    if (tops[-1].type in ENDED_BY_A_BLANK_LINE and BLANK_LINE.search(text)) or _is_closed_fence(
        tops[-1], text
    ):
        return len(text)
    ends_of_lines = [match.end() for match in LINE_END.finditer(text)]
    first_line = (tops[-1].map or [0])[0]
    return ends_of_lines[first_line - 1] if first_line else 0


def _is_closed_fence(token: Token, text: str) -> bool:
    first, end = token.map or (0, 0)
    if token.type != "fence" or end - first == 1:
        return False
    return is_end_of_fence(text.splitlines()[end - 1], token.markup)


def _show_task_boxes(state: StateCore) -> None:
    """Replace the marks of task lists by boxes."""
    # The plugin of `mdit-py-plugins` makes form fields, and takes time that grows with the square of a list's length.
    for item, paragraph, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if item.type != "list_item_open" or paragraph.type != "paragraph_open":
            continue
        if mark := TASK.match(inline.content):
            box = "☐" if mark[1] == " " else "☑"
            inline.content = box + inline.content[mark.end() :]
            item.attrSet("class", "task")


def _fence(tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    """Render a code block with its language."""
    token = tokens[index]
    words = token.info.split()
    language = ""
    if words and LANGUAGE.fullmatch(words[0]):
        language = f' data-language="{words[0]}"'
    place = PLACE if env.get(LEAF) is token else ""
    return _code_block(token.content, language, place)


def _code_block(text: str, attributes: str = "", place: str = "") -> str:
    # With `tabindex` a long block can be scrolled by keyboard.
    return f'<pre tabindex="0"{attributes}><code>{escapeHtml(text)}{place}</code></pre>\n'


def _text(tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    return escapeHtml(OVERRIDES.sub("", tokens[index].content))


def _image(tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    source = str(tokens[index].attrs["src"])
    return f'<a href="{escapeHtml(source)}">{escapeHtml(tokens[index].content or source)}</a>'


def _heading(tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    """Render a heading one level lower, because `h1` is the title of the page."""
    token = tokens[index]
    slash = "/" if token.nesting < 0 else ""
    return f"<{slash}h{min(6, int(token.tag[1]) + 1)}>"


def _cell(tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    """Render a table cell with classes for its alignment and length.

    The content security policy forbids styles. A column with a long text gets room for some words on a line.
    """
    token = tokens[index]
    classes = str(token.attrs.get("style", "")).removeprefix("text-align:")
    pieces = tokens[index + 1].children or ()
    if is_long_cell("".join(piece.content for piece in pieces)):
        classes = f"{classes} long".strip()
    return f'<{token.tag} class="{classes}">' if classes else f"<{token.tag}>"


def _table_open(tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escapeHtml(gettext("Table"))}"><table>\n'


def _table_close(tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    return "</table></div>\n"


def _make_markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    show_link_targets(markdown)  # before bare URLs are links, which are their own text
    link_bare_urls(markdown)
    markdown.core.ruler.before("inline", "task_lists", _show_task_boxes)
    show_alerts(markdown)
    show_footnotes(markdown)
    show_mathematics(markdown)
    show_inline_tags(markdown)
    delimit_unspaced_words(markdown)
    draw_open_ends(markdown)
    show_citations(markdown)  # when all tokens are there
    rules = {
        "text": _text,
        "fence": _fence,
        "code_block": _fence,
        "image": _image,
        "heading_open": _heading,
        "heading_close": _heading,
        "th_open": _cell,
        "td_open": _cell,
        "table_open": _table_open,
        "table_close": _table_close,
    }
    for name, rule in rules.items():
        # Static: a rule would be bound to the renderer, and none needs it.
        markdown.add_render_rule(name, staticmethod(rule))
    limit_markdown(markdown)
    return markdown


_markdown = _make_markdown()
CODE_TO_COME = mark_safe(_cleaner.clean(_code_block("", place=PLACE)))  # noqa: S308  (a constant)
"""HTML of a code block whose whole text follows."""
