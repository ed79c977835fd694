"""The HTML tags that models write where Markdown has no mark: `<br>`, `<sub>…</sub>` and `<sup>…</sup>`.

Other tags are shown as text, and so are attributes and a tag without its counterpart.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
# Bounded: each of thousands of opening tags would search the rest of the text.
RAISED = re.compile(r"<(su[bp])>([^\n]{1,200}?)</\1>", re.IGNORECASE)


def show_inline_tags(markdown: MarkdownIt) -> None:
    """Extend the parser: break lines at `<br>`, and lower and raise the text within `<sub>` and `<sup>`."""
    markdown.inline.ruler.before("autolink", "break_tag", _parse_break)
    markdown.inline.ruler.before("autolink", "raised_text", _parse_raised)


def _parse_break(state: StateInline, silent: bool) -> bool:
    match = BREAK.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos = match.end()
    return True


def _parse_raised(state: StateInline, silent: bool) -> bool:
    match = RAISED.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        tag = match[1].lower()
        end_of_text = state.posMax
        state.push(f"{tag}_open", tag, 1)
        state.pos, state.posMax = match.span(2)
        state.md.inline.tokenize(state)
        state.push(f"{tag}_close", tag, -1)
        state.posMax = end_of_text
    state.pos = match.end()
    return True
