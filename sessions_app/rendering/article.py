"""HTML of an event as an article.

Functions make the pieces that nearly every event has, because the template engine takes at least twice the CPU.
Templates make the other pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext

from sessions_app.rendering.blocks import Block, CallBlock, ResponseBlock, TextBlock, ThoughtBlock
from sessions_app.rendering.markdown import render_markdown
from sessions_app.rendering.outline import as_words

NOTES = (
    "transfer",
    "changes",
    "files",
    "error",
    "withdrawn",
    "is_empty_answer",
    "is_resumed",
    "is_interrupted",
)
"""Names in the context of the parts below the blocks. Few events have such parts."""


def _markup(template: str, *values: object) -> SafeString:
    """Return the template with the values, escaped if they are not safe.

    `format_html` escapes the same characters, and takes twice the CPU: it looks for lazy texts five times.
    """
    texts = [value if isinstance(value, SafeString) else escape(str(value)) for value in values]
    return SafeString(template.format(*texts))


def article(context: Mapping[str, Any]) -> SafeString:
    """Return `<article id="event-<seq>">` with the blocks and notes of an event."""
    notes = any(context[name] for name in NOTES)
    pieces = [
        _opening(context),
        _header(context) if context["speaker"] != "quiet" or context["error"] else "",
        *(_block(block, context) for block in context["blocks"]),
        render_to_string("chat/notes.html", dict(context)) if notes else "",
        _edit_button() if context["speaker"] == "person" and context["is_editable"] else "",
        "</article>\n",
    ]
    return mark_safe("".join(pieces))  # noqa: S308 - each piece is escaped


def _opening(context: Mapping[str, Any]) -> SafeString:
    event, tokens, cost = context["event"], context["tokens"], context["cost"]
    return _markup(
        '<article id="event-{0}" class="event {1}" data-seq="{0}" data-event-id="{2}" data-invocation="{3}"'
        ' data-time="{4}"{5}{6}{7}{8}>\n',
        context["seq"],
        context["speaker"],
        event.id,
        event.invocation_id,
        event.timestamp,
        _markup(' data-tokens="{}"', tokens) if tokens else "",
        _markup(' data-cost="{}"', cost) if cost else "",
        " data-error" if context["error"] else "",
        " data-interrupted" if context["is_interrupted"] else "",
    )


def _header(context: Mapping[str, Any]) -> SafeString:
    author, happened_at = context["event"].author, localtime(context["happened_at"])
    if context["speaker"] == "clock":
        name = gettext("Scheduled")
    else:
        name = gettext("You") if author == "user" else as_words(author)
    return _markup(
        '<header><span class="author" dir="auto">{}</span> <time datetime="{}">{}</time></header>\n',
        name,
        happened_at.isoformat(),
        happened_at.strftime("%H:%M"),
    )


def _block(block: Block, context: Mapping[str, Any]) -> SafeString:
    match block:
        case TextBlock() if context["speaker"] == "person":
            return _markup('<div class="said" dir="auto">{}</div>\n', block.text)
        case TextBlock():
            return _markup('<div class="prose" dir="auto">{}</div>\n', render_markdown(block.text))
        case ThoughtBlock():
            return _markup(
                '<details class="thought"><summary>{}</summary><div class="prose" dir="auto">{}</div></details>\n',
                gettext("Thoughts"),
                render_markdown(block.text),
            )
        case CallBlock():
            return _call(block, context)
        case ResponseBlock():
            return _response(block)
        case _:
            return render_to_string("chat/block.html", {**context, "block": block})


def _call(call: CallBlock, context: Mapping[str, Any]) -> SafeString:
    shows_details = context["shows_details"]
    return _markup(
        '<details class="tool" data-call-id="{}" data-tool="{}" data-state="open"{}{}>\n'
        '<summary><span class="tool-sign" aria-hidden="true"></span><span class="tool-name" dir="auto">'
        '<span class="tool-plain">{}</span><span class="tool-running">{}…</span><span class="tool-done">{}</span>{}'
        '</span>{}<span class="tool-outcome"></span></summary>\n'
        '<div class="tool-body">{}\n<div class="results"></div></div>\n</details>\n{}',
        call.call_id,
        call.name,
        " data-long-running" if call.is_long_running else "",
        " data-precise" if shows_details else "",
        call.words.plain,
        call.words.running,
        call.words.done,
        _markup(" <code>{}</code>", call.name) if shows_details else "",
        ""
        if call.words.names_arguments
        else _markup('<span class="tool-brief" dir="auto">{}</span>', call.brief),
        _arguments(call, shows_details=shows_details),
        render_to_string("chat/job_place.html", {"call": call}) if call.is_long_running else "",
    )


def _arguments(call: CallBlock, *, shows_details: bool) -> SafeString:
    if not call.args:
        return _markup('<p class="muted">{}</p>', gettext("No details were needed."))
    rows = [(key if shows_details else as_words(key), value) for key, value in call.args]
    return _markup(
        '<dl class="args">{}</dl>',
        format_html_join("", '<dt dir="auto">{}</dt><dd dir="auto">{}</dd>', rows),
    )


def _response(response: ResponseBlock) -> SafeString:
    title = gettext("Result: %(tool)s") % {"tool": as_words(response.name)}
    return _markup(
        '<details class="tool lone-result" data-response-to="{}" data-state="{}"{}{}>\n'
        '<summary><span class="tool-sign" aria-hidden="true"></span><span class="tool-name">{}</span></summary>\n'
        '<div class="tool-body"><div class="result"><pre tabindex="0" dir="auto" aria-label="{}">{}</pre>{}{}</div>'
        "</div>\n</details>\n",
        response.call_id,
        response.state,
        " data-allowed" if response.allowed_at else "",
        "" if response.seconds is None else _markup(' data-seconds="{}"', response.seconds),
        title,
        title,
        response.text,
        _hidden_notice(response.hidden),
        render_to_string("chat/allowed.html", {"allowed_at": response.allowed_at})
        if response.allowed_at
        else "",
    )


def _hidden_notice(hidden: int | None) -> SafeString | str:
    """Return the sentence that `hidden` characters are not shown; empty for 0. None stands for an unknown number."""
    if hidden == 0:
        return ""
    sentence = gettext("More is not shown.")
    if hidden is not None:
        sentence = ngettext(
            "%(number)s more character is not shown.", "%(number)s more characters are not shown.", hidden
        ) % {"number": hidden}
    return _markup('<p class="muted">{}</p>', sentence)


def _edit_button() -> SafeString:
    words = gettext('Edit<span class="visually-hidden"> this message</span>')
    return _markup(
        '<div class="actions"><button class="plain edit" type="button" data-edit>{}</button></div>\n',
        mark_safe(words),  # noqa: S308 - markup of the catalogue
    )
