"""Links in Markdown: for bare http and https URLs, and with the host of the target where a text names another one.

A URL ends where a reader sees its end: at punctuation of any script, and where a sentence continues without a space, as
in "https://example.com/helpを". Letters of such a script belong to the URL in labels of its host, and after a delimiter
of its path, as in "https://ja.wikipedia.org/wiki/日本". With a letter of the sentence, the host would be another host.

markdown-it's own extension, `linkify-it-py`, is not used: it takes seconds for 30 KB of "http://a.b/(", which a model
may write, and a page would wait for it.

A reader of `[https://bank.example](https://evil.example)` would take the text for the target, and a model may be made
to write such a link. The page shows the host of the target after it.
"""

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdurl import parse

from sessions_app.rendering.markdown.citations import ADDED
from sessions_app.rendering.markdown.written_scripts import SIGNS, UNSPACED

_STOPS = r"\s<>\"`{}|\\^" + SIGNS
_LABEL = rf"[^\[\]/?#:@!$&'()*+,;=.~{_STOPS}]"
_SPACED_LABEL = rf"[^\[\]/?#:@!$&'()*+,;=.~{_STOPS}{UNSPACED}]"
_IN_NAMES = r"[\u2013·・](?=\w)"
"""Signs within raw titles in paths, such as those of Wikipedia: `Michelson–Morley`."""
URL = re.compile(
    rf"""
    (?<![A-Za-z0-9_]) (?i:https?)://
    (?:(?a:[\w.~%!$&'()*+,;=:-])*+@)?                                      # user and password
    (?:\[[\da-fA-F:.]++\] | (?:{_LABEL}++\.(?={_LABEL}))*+ (?:{_SPACED_LABEL}++|{_LABEL}++))
    (?::\d++)?
    (?:[/?#]
        (?:[^{_STOPS}{UNSPACED}]++|{_IN_NAMES})*+
        (?:(?<=[/?#=&_+@(:-])[{UNSPACED}](?:[^{_STOPS}]++|{_IN_NAMES})*+)?
    )?""",
    re.VERBOSE,
)
AFTER_A_URL = ".,;:!?'*_~"
BRACKETS = {")": "(", "]": "["}
ISOLATE, END_OF_ISOLATE = "\u2066", "\u2069"
"""Characters around the added host: direction characters in the link's text cannot move it."""
INVISIBLE = re.compile("[\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
NAMED_URL = re.compile(rf"(?:https?:[/\\]*|\bwww\.)([^\s/\\?#:@,;!'\"()<>\[\]{SIGNS}]+)", re.IGNORECASE)
HOST = re.compile(r"\W*+(?:[\w.+-]++@)?((?:[\w-]++\.)+[^\W\d_]{2,})(?!\w)")
"""Host or e-mail address at the beginning of a word."""
FILE_ENDINGS = frozenset(
    "c cc cpp cs css csv go h html java js json jsx md pdf php pl py rb rs sh sql ts tsx txt xml yaml".split()
)
"""Endings that are of files and libraries far more often than of hosts: `README.md`, `Node.js`."""


def link_bare_urls(markdown: MarkdownIt) -> None:
    """Make the parser turn http and https URLs into links, outside of code and other links."""
    markdown.core.ruler.push("bare_urls", _link_urls)


def _link_urls(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline" and token.children and "://" in token.content:
            token.children = list(_with_links(state.md, token.children))


def _with_links(markdown: MarkdownIt, tokens: list[Token]) -> Iterator[Token]:
    open_links = 0
    for token in tokens:
        open_links += (token.type == "link_open") - (token.type == "link_close")
        if token.type == "text" and not open_links and "://" in token.content:
            yield from _split(markdown, token)
        else:
            yield token


def _split(markdown: MarkdownIt, token: Token) -> Iterator[Token]:
    end = 0
    for match in URL.finditer(token.content):
        url = _without_punctuation(match[0])
        if not markdown.validateLink(url):
            continue
        yield _text(token.content[end : match.start()], token.level)
        yield Token("link_open", "a", 1, attrs={"href": markdown.normalizeLink(url)}, level=token.level)
        yield _text(url, token.level + 1)
        yield Token("link_close", "a", -1, level=token.level)
        end = match.start() + len(url)
    yield _text(token.content[end:], token.level)


def _without_punctuation(url: str) -> str:
    """Remove the end that belongs to the sentence: punctuation, and brackets that were opened before the URL."""
    surplus = {closing: url.count(closing) - url.count(opening) for closing, opening in BRACKETS.items()}
    end = len(url)
    while url[end - 1] in AFTER_A_URL or surplus.get(url[end - 1], 0) > 0:
        surplus[url[end - 1]] = surplus.get(url[end - 1], 0) - 1
        end -= 1
    return url[:end]


def _text(content: str, level: int) -> Token:
    return Token("text", "", 0, content=content, level=level)


def show_link_targets(markdown: MarkdownIt) -> None:
    """Extend the parser: add the host of a link's target if the link's text is an address of another host."""
    markdown.core.ruler.push("link_targets", _show_targets)


def _show_targets(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline" and token.children:
            token.children = list(_with_targets(state.md, token.children))


def _with_targets(markdown: MarkdownIt, tokens: list[Token]) -> Iterator[Token]:
    texts: list[str] = []
    target = ""
    for token in tokens:
        yield token
        texts.append(token.content)
        if token.type == "link_open":
            texts = []
            target = str(token.attrs["href"])
        elif token.type == "link_close":
            yield from _suffix(markdown, "".join(texts), target)
        elif token.type == "image":  # shown as a link
            yield from _suffix(markdown, token.content, str(token.attrs["src"]))


def _suffix(markdown: MarkdownIt, text: str, target: str) -> Iterator[Token]:
    if text == target:
        return  # The usual case, such as `<https://bank.example>`. Normalising thousands of these takes long.
    named = _named_host(markdown, text)
    if named and not f".{host_of(target)}".endswith(f".{named}"):
        content = f" {ISOLATE}({host_of(target)}){END_OF_ISOLATE}"
        yield Token("text", "", 0, content=content, meta={ADDED: True})


def _named_host(markdown: MarkdownIt, text: str) -> str:
    """Return the host of the address that a reader would see in the text; empty without an address."""
    visible = INVISIBLE.sub("", text)
    found = NAMED_URL.search(visible)
    if not found and len(visible.split()) == 1:
        found = HOST.match(visible.strip())
        if found and found[1].rpartition(".")[2].lower() in FILE_ENDINGS:
            return ""
    if not found:
        return ""
    return host_of(markdown.normalizeLink(f"https://{found[1]}"))


def host_of(url: str) -> str:
    """Return the host of a URL as a reader sees it; empty without a host."""
    return (parse(url, slashes_denote_host=True).hostname or "").lower().removeprefix("www.")
