"""Hosts after links whose text is an address other than the target.

A reader of `[https://bank.example](https://evil.example)` would take the text for the target, and a model may be made
to write such a link. The page shows the host of the target after it.
"""

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdurl import parse

from sessions_app.rendering.citations import ADDED
from sessions_app.rendering.written_scripts import SIGNS

ISOLATE, END_OF_ISOLATE = "\u2066", "\u2069"
"""Characters around the added host: direction characters in the link's text cannot move it."""
INVISIBLE = re.compile("[\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
URL = re.compile(rf"(?:https?:[/\\]*|\bwww\.)([^\s/\\?#:@,;!'\"()<>\[\]{SIGNS}]+)", re.IGNORECASE)
HOST = re.compile(r"\W*+(?:[\w.+-]++@)?((?:[\w-]++\.)+[^\W\d_]{2,})(?!\w)")
"""Host or e-mail address at the beginning of a word."""
FILE_ENDINGS = frozenset(
    "c cc cpp cs css csv go h html java js json jsx md pdf php pl py rb rs sh sql ts tsx txt xml yaml".split()
)
"""Endings that are of files and libraries far more often than of hosts: `README.md`, `Node.js`."""


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
    found = URL.search(visible)
    if not found and len(visible.split()) == 1:
        found = HOST.match(visible.strip())
        if found and found[1].rpartition(".")[2].lower() in FILE_ENDINGS:
            return ""
    return host_of(markdown.normalizeLink(f"https://{found[1]}")) if found else ""


def host_of(url: str) -> str:
    """Return the host of a URL as a reader sees it; empty without a host."""
    return (parse(url, slashes_denote_host=True).hostname or "").lower().removeprefix("www.")
