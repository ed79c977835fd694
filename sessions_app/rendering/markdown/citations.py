"""Citations in Markdown: numbered links at positions of the text, which lead to the sources of what stands before.

Nothing is inserted into the text, because a character more could change how it is parsed. The text is parsed as it is,
and each position is found in its tokens:

    position of the text -> line and column -> block -> offset in the block's content -> offset in what is shown

A citation goes to the nearest place at or after its position where it changes nothing: after a code block, a formula
or a link that contains the position, after the markers of emphasis. No text can forge a citation, which is a token of
its own.
"""

import re
import sys
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import attrgetter, itemgetter
from typing import Any, Literal, NamedTuple

from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

MAX_CITATIONS = 500
"""Maximum citations of a text. Sources of further ones are only in the list below the text."""
CITATIONS = "citations"
"""Key of the citations in the parser's environment."""
ADDED = "added"
"""Key in the `meta` of a token that shows characters which are not in the text."""
UNDIVIDED = frozenset({"fence", "code_block", "formula", "hr"})
"""Types of blocks without places within."""
CONTINUED = re.compile(
    "(?:[\u0300-\u036f\u20d0-\u20f0\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|(?<=\u200d)\\S)*+"
)
"""Characters that belong to the character before: accents, variants, colours of skin, and joined characters."""
POSITION = "position"
PLACES = "places"
END = sys.maxsize
"""Offset of a citation at the end of its block."""


@dataclass(frozen=True)
class Source:
    """A page, file or place that an answer is based on.

    Attributes:
        title: name of the source, without hidden characters.
        host: host of the page; empty for other sources.
        url: address of the page, with the scheme http or https, or a path of this site; empty if the source cannot be
            opened.
        number: number of the source in the answer; 0 if the answer does not refer to it.
    """

    title: str
    host: str = ""
    url: str = ""
    number: int = 0


@dataclass(frozen=True)
class Citation:
    """Reference to the sources of the text before it.

    Attributes:
        position: number of characters before it.
    """

    position: int
    sources: tuple[Source, ...]


def show_citations(markdown: MarkdownIt) -> None:
    """Extend the parser: show the citations in the environment.

    To be called after all extensions that split or add tokens.
    """
    markdown.core.ruler.after("inline", "citation_places", _find_places)
    markdown.core.ruler.push("citations", _insert_citations)
    # Static: a rule would be bound to the renderer, and none needs it.
    markdown.add_render_rule("citation", staticmethod(_render_citation))


def parse_inline(parser: ParserInline, state: StateCore, block: Token) -> None:
    """Parse the content of a block into its children, with their positions if the text has citations."""
    block.children = []
    if not state.env.get(CITATIONS):
        parser.parse(block.content, state.md, state.env, block.children)
        return
    inline = _PositionedTokens(block.content, state.md, state.env, block.children)
    parser.tokenize(inline)
    for rule in parser.ruler2.getRules(""):
        rule(inline)


class _PositionedTokens(StateInline):
    """Parsing of a block's content that notes the parser's position at each token: a text's end, a mark's beginning."""

    def pushPending(self) -> Token:
        token = super().pushPending()
        token.meta[POSITION] = self.pos
        return token

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        token = super().push(ttype, tag, nesting)
        token.meta[POSITION] = self.pos
        return token


class _Block:
    """A block with content, or one that a citation can only follow."""

    def __init__(self, token: Token) -> None:
        self.token = token
        self.first, self.end = token.map or (0, 0)

    @cached_property
    def lines(self) -> list[str]:
        return self.token.content.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """Position of each line in the content."""
        return [0, *accumulate(len(line) + 1 for line in self.lines)]

    @cached_property
    def shown(self) -> "list[_Shown]":
        """Tokens that show characters, with their positions in the content."""
        content = self.token.content
        offset = 0
        tokens = []
        for token in self.token.children or ():
            if not token.content:
                continue
            position = token.meta.get(POSITION, len(content))
            if token.type == "text":
                # The noted position is the end of the text, or of a text before markers that turned out to be text.
                markers = len(token.content) - len(token.content.rstrip("*_~"))
                start = content.rfind(token.content, 0, position + markers)
                position = start if start >= 0 else position
            tokens.append(_Shown(position, offset, token))
            offset += len(token.content)
        return tokens

    def add(self, citation: Citation, position: int | None = None) -> None:
        """Add a citation at a position of the content, by default at its end."""
        offset = END if position is None else self._shown_before(position)
        self.token.meta.setdefault(PLACES, []).append((offset, citation))

    def position_of(self, line: int, column: int, source: str) -> int:
        """Return the position in the content of a column in a line of the text.

        Args:
            source: the line of the text, which may begin with the marks of lists and quotations.
        """
        # Extensions remove marks from the beginning of a content, so its last line is a block's last line.
        index = line - (self.end - len(self.lines))
        if index < 0:
            return 0
        content = self.lines[index]
        start = source.rfind(content)
        if start < 0:
            start = len(source.rstrip()) - len(content)
        return self.starts[index] + min(max(column - start, 0), len(content))

    def _shown_before(self, position: int) -> int:
        """Return the number of characters shown before a position of the content."""
        index = bisect_left(self.shown, position, key=attrgetter("position"))
        if index == 0:
            return 0
        shown = self.shown[index - 1]
        return shown.offset + min(position - shown.position, len(shown.token.content))


class _Shown(NamedTuple):
    """A token that shows characters, with its position and the number of characters shown before it."""

    position: int
    offset: int
    token: Token


def _find_places(state: StateCore) -> None:
    """Note each citation at its block, with the number of characters that the block shows before it."""
    citations = state.env.get(CITATIONS)
    if not citations:
        return
    blocks = [_Block(token) for token in state.tokens if token.map and _can_be_cited(token)]
    if not blocks:
        return
    firsts = [block.first for block in blocks]
    lines = state.src.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    for citation in citations:
        position = _nearest_end(state.src, citation.position)
        line = max(bisect_right(starts, position - 1) - 1, 0)
        column = position - starts[line]
        last = bisect_right(firsts, line) - 1
        if last < 0:
            blocks[0].add(citation, 0)
            continue
        block = blocks[last]
        if line >= block.end:
            block.add(citation)
            continue
        cells = blocks[bisect_right(firsts, line - 1) : last + 1]
        if len(cells) > 1:
            _add_to_cell(cells, citation, column, lines[line])
        else:
            block.add(citation, block.position_of(line, column, lines[line]))


def _can_be_cited(token: Token) -> bool:
    return token.type in UNDIVIDED or (token.type == "inline" and bool(token.content))


def _nearest_end(text: str, position: int) -> int:
    """Return the end of the text before a position, without spaces, and never within a sign of several characters."""
    end = len(text[:position].rstrip())
    continued = CONTINUED.match(text, end)
    return continued.end() if continued and end else end


def _add_to_cell(cells: Sequence[_Block], citation: Citation, column: int, source: str) -> None:
    """Add a citation to the cell of a table's row that contains the column or ends before it."""
    chosen = cells[0]
    position = 0
    cursor = 0
    for cell in cells:
        content = cell.token.content
        start = source.find(content, cursor)
        if start < 0:  # The content is without the backslashes before each `|`.
            content = content.replace("|", r"\|")
            start = max(source.find(content, cursor), cursor)
        if start >= column:
            break
        chosen = cell
        position = column - start - source.count(r"\|", start, column)
        cursor = start + len(content)
    chosen.add(citation, min(position, len(chosen.token.content)))


def _insert_citations(state: StateCore) -> None:
    if not state.env.get(CITATIONS):
        return
    tokens: list[Token] = []
    for token in state.tokens:
        places = token.meta.get(PLACES, ())
        tokens.append(token)
        if places and token.type == "inline":
            token.children = list(_with_citations(token.children or [], places))
        elif places:
            children = [_citation_token(citation for _, citation in places)]
            tokens += [
                Token("paragraph_open", "p", 1, block=True),
                Token("inline", "", 0, children=children),
                Token("paragraph_close", "p", -1, block=True),
            ]
    state.tokens = tokens


def _with_citations(tokens: Iterable[Token], places: Iterable[tuple[int, Citation]]) -> Iterator[Token]:
    """Yield the tokens of a block with its citations, none within a link."""
    waiting = deque(sorted(places, key=itemgetter(0)))
    shown = 0
    open_links = 0
    for token in tokens:
        is_added = ADDED in token.meta
        is_place = not open_links and not is_added
        if is_place:
            yield from _take_due(waiting, shown)
        while is_place and token.type == "text" and waiting and waiting[0][0] < shown + len(token.content):
            length = waiting[0][0] - shown
            yield Token("text", "", 0, content=token.content[:length])
            token.content = token.content[length:]
            shown += length
            yield from _take_due(waiting, shown)
        yield token
        open_links += (token.type == "link_open") - (token.type == "link_close")
        if not is_added:
            shown += len(token.content)
    yield from _take_due(waiting, END)


def _take_due(waiting: deque[tuple[int, Citation]], shown: int) -> Iterator[Token]:
    """Yield a token with the citations up to this offset, if there are any."""
    due = []
    while waiting and waiting[0][0] <= shown:
        due.append(waiting.popleft()[1])
    if due:
        yield _citation_token(due)


def _citation_token(citations: Iterable[Citation]) -> Token:
    sources: list[Source] = []
    for citation in citations:
        sources += [source for source in citation.sources if source not in sources]
    return Token("citation", "sup", 0, meta={"sources": sources})


def _render_citation(tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    links = [_link(source) for source in tokens[index].meta["sources"]]
    return f'<sup class="citation">{" ".join(links)}</sup>'


def _link(source: Source) -> str:
    if not source.url:
        return str(source.number)
    name = gettext("Source {number}: {title}").format(number=source.number, title=source.title)
    attributes = f'href="{escapeHtml(source.url)}" title="{escapeHtml(source.title)}"'
    return f'<a {attributes} aria-label="{escapeHtml(name)}">{source.number}</a>'
