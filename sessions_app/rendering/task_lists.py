"""Task lists: items that begin with `[ ]` or `[x]` (GitHub Flavored Markdown, section 5.3)."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

MARK = re.compile(r"\[([ xX])\](?=\s)")
BOXES = {" ": "☐", "x": "☑"}


def show_task_lists(markdown: MarkdownIt) -> None:
    """Make the parser show the marks of tasks as boxes."""
    markdown.core.ruler.before("inline", "task_lists", _replace_marks)


def _replace_marks(state: StateCore) -> None:
    for item, paragraph, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if item.type != "list_item_open" or paragraph.type != "paragraph_open":
            continue
        if mark := MARK.match(inline.content):
            inline.content = BOXES[mark[1].lower()] + inline.content[mark.end() :]
            item.attrSet("class", "task")
