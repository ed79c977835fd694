"""Alerts in Markdown, as GitHub has them: a quotation that begins with `[!NOTE]` or the mark of another kind."""

import re

from django.utils.translation import gettext_lazy
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

TITLES = {
    "note": gettext_lazy("Note"),
    "tip": gettext_lazy("Tip"),
    "important": gettext_lazy("Important"),
    "warning": gettext_lazy("Warning"),
    "caution": gettext_lazy("Caution"),
}
"""The kinds of alerts, which are also their CSS classes, and what a reader sees and hears first."""
MARK = re.compile(rf"\[!({'|'.join(TITLES)})\](?:\s+|\Z)", re.IGNORECASE)


def show_alerts(markdown: MarkdownIt) -> None:
    """Extend the parser: a quotation that begins with a mark is a note with a title, without the mark."""
    markdown.core.ruler.before("inline", "alerts", _show_alerts)


def _show_alerts(state: StateCore) -> None:
    tokens: list[Token] = []
    are_alerts: list[bool] = []
    for index, token in enumerate(state.tokens):
        tokens.append(token)
        if token.type == "blockquote_open":
            first = state.tokens[index + 1 : index + 3]
            mark = _mark_of(first)
            are_alerts.append(mark is not None)
            if mark:
                token.tag = "div"
                token.attrs = {"class": f"alert {mark[1].lower()}", "role": "note"}
                tokens.extend(_title(mark, *first))
        elif token.type == "blockquote_close" and are_alerts.pop():
            token.tag = "div"
    state.tokens = tokens


def _title(mark: re.Match[str], paragraph: Token, inline: Token) -> list[Token]:
    """Return the tokens of a title before the first paragraph, or make that the title if it has only the mark."""
    words = str(TITLES[mark[1].lower()])
    text = mark.string[mark.end() :]
    inline.content = text or words
    if not text:
        paragraph.attrSet("class", "alert-title")
        return []
    opening = Token("paragraph_open", "p", 1, attrs={"class": "alert-title"}, block=True)
    title = Token("inline", "", 0, content=words, children=[])
    return [opening, title, Token("paragraph_close", "p", -1, block=True)]


def _mark_of(tokens: list[Token]) -> re.Match[str] | None:
    """Return the mark at the beginning of a quotation with these first tokens; None without a mark."""
    if len(tokens) < 2 or tokens[0].type != "paragraph_open":
        return None
    return MARK.match(tokens[1].content)
