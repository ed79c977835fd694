"""HTML of an event as an article.

Functions make the pieces of nearly every event, because the template engine takes at least twice the CPU time.
Templates make the other pieces, where markup is easier to read than code.
"""

from collections.abc import Mapping
from html import escape
from typing import Any

from django.template.loader import render_to_string
from django.utils.formats import number_format
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext

from runtime.events import Event as RuntimeEvent
from sessions_app.history.event_marks import writer_of
from sessions_app.rendering.blocks import (
    Block,
    CallBlock,
    ConfirmationBlock,
    ResponseBlock,
    TextBlock,
    ThoughtBlock,
)
from sessions_app.rendering.faces import signature
from sessions_app.rendering.hidden_characters import escape_hidden, mark_hidden
from sessions_app.rendering.markdown.render import render_markdown
from sessions_app.rendering.outline import as_words, labels_of
from sessions_app.rendering.questions import (
    MAX_UNFOLDED_LENGTH,
    ChosenBlock,
    CredentialBlock,
    RepliedBlock,
    StoppedBlock,
)

MAX_UNFOLDED_LINES = 20
"""Lines of a message from which the page folds it."""
NOTES = (
    "sources",
    "has_suggestions",
    "transfer",
    "changes",
    "files",
    "error",
    "withdrawn",
    "is_empty_answer",
    "is_cut",
    "is_recalled",
    "is_resumed",
    "is_interrupted",
)
"""Names of the parts below the blocks, in the context. Few events have any."""


def article(context: Mapping[str, Any]) -> SafeString:
    """Return `<article id="event-<seq>">` with the blocks and notes of an event."""
    pieces = [_opening(context)]
    # Events with nothing but calls continue the turn above them and need no header, unless they failed.
    if context["speaker"] != "quiet" or context["error"]:
        pieces.append(_header(context))
    for block in context["blocks"]:
        pieces.append(_block(block, context))
    if any(context[name] for name in NOTES):
        pieces.append(render_to_string("chat/notes.html", dict(context)))
    if context["speaker"] == "person" and context["is_editable"]:
        pieces.append(_edit_button())
    pieces.append(SafeString("</article>\n"))
    return SafeString("".join(pieces))


def node_mark(seq: int, event: RuntimeEvent) -> SafeString:
    """Return the article of an event that shows nothing: the page places the steps of a workflow at its events."""
    return _markup(
        '<article id="event-{seq}" class="event quiet" hidden{attributes}></article>\n',
        seq=seq,
        attributes=_attributes(**_origin(seq, event)),
    )


def _origin(seq: int, event: RuntimeEvent) -> dict[str, Any]:
    """Return the attributes that tell the page where an event comes from."""
    writer: str | None = writer_of(event.invocation_id, event.custom_metadata)
    if writer in ("", event.invocation_id):
        writer = None
    node = None
    if event.node_info and not event.isolation_scope:
        node = event.node_info.path
    return {
        "data_seq": seq,
        "data_event_id": event.id,
        "data_invocation": event.invocation_id,
        "data_writer": writer,
        "data_node": node,
        "data_time": event.timestamp,
    }


def _markup(template: str, **values: object) -> SafeString:
    """Fill in a template; values are escaped unless they are safe."""
    # `format_html` does the same in twice the time: it looks for lazy texts five times.
    texts = {}
    for name, value in values.items():
        texts[name] = value if isinstance(value, SafeString) else escape(str(value))
    return SafeString(template.format_map(texts))


def _attributes(**values: object) -> SafeString:
    """Return HTML attributes. Underscores in names become hyphens.

    True makes an attribute without a value; None and False make none.
    """
    pieces = []
    for name, value in values.items():
        if value is True:
            pieces.append(f" {name.replace('_', '-')}")
        elif value is not None and value is not False:
            pieces.append(f' {name.replace("_", "-")}="{escape(str(value))}"')
    return SafeString("".join(pieces))


def _opening(context: Mapping[str, Any]) -> SafeString:
    event = context["event"]
    attributes = _attributes(
        **_origin(context["seq"], event),
        data_tokens=context["tokens"] or None,
        data_cost=context["cost"] or None,
        data_error=bool(context["error"]),
        data_interrupted=context["is_interrupted"],
    )
    return _markup(
        '<article id="event-{seq}" class="event {speaker}"{attributes}>\n',
        seq=context["seq"],
        speaker=context["speaker"],
        attributes=attributes,
    )


def _header(context: Mapping[str, Any]) -> SafeString:
    author = context["event"].author
    if context["speaker"] == "clock":
        name = gettext("Scheduled")
    elif author == "user":
        name = gettext("You")
    else:
        return _markup("<header>{who} {time}</header>\n", who=signature(context["face"]), time=_time(context))
    return _markup(
        '<header><span class="author" dir="auto">{name}</span> {time}</header>\n',
        name=name,
        time=_time(context),
    )


def _time(context: Mapping[str, Any]) -> SafeString:
    happened_at = localtime(context["happened_at"])
    return _markup(
        '<time datetime="{moment}">{time}</time>',
        moment=happened_at.isoformat(),
        time=happened_at.strftime("%H:%M"),
    )


def _block(block: Block, context: Mapping[str, Any]) -> SafeString:
    match block:
        case TextBlock() if context["speaker"] == "person":
            return _said(block.text)
        case TextBlock():
            prose = render_markdown(block.text, block.citations)
            return _markup('<div class="prose" dir="auto">{prose}</div>\n', prose=prose)
        case ThoughtBlock():
            return _markup(
                '<details class="thought"><summary>{title}</summary><div class="prose" dir="auto">{prose}</div>'
                "</details>\n",
                title=gettext("Thoughts"),
                prose=render_markdown(block.text),
            )
        case CallBlock():
            return _call(block, shows_details=context["shows_details"])
        case ResponseBlock():
            return _response(block)
        case ChosenBlock() | ConfirmationBlock() | CredentialBlock() | RepliedBlock() | StoppedBlock():
            sentence = block.sentence(_time(context))
            return render_to_string("chat/verdict.html", {**context, "answer": block, "sentence": sentence})
        case _:
            return render_to_string("chat/block.html", {**context, "block": block})


def _said(text: str) -> SafeString:
    """Return a message of the user; a long message shows its beginning, and a button for the rest."""
    # The page reads the text back from here: `said.js` knows the marks of hidden characters.
    said = _markup('<div class="said" dir="auto">{text}</div>\n', text=mark_hidden(text))
    if len(text) <= MAX_UNFOLDED_LENGTH and text.count("\n") < MAX_UNFOLDED_LINES:
        return said
    button = _markup(
        '<button class="plain unfold" type="button" aria-expanded="false">{words}</button>\n',
        words=gettext("%(size)s characters") % {"size": number_format(len(text), force_grouping=True)},
    )
    return SafeString(said + button)


def _call(call: CallBlock, *, shows_details: bool) -> SafeString:
    # The HTML is cached while the call's state changes, so it has all three phrases: `data-state` shows one of them.
    attributes = _attributes(
        data_call_id=call.call_id,
        data_tool=call.name,
        data_state="open",
        data_long_running=call.is_long_running,
        data_precise=shows_details,
    )
    code = brief = job = ""
    if shows_details:
        code = _markup(" <code>{name}</code>", name=call.name)
    if not call.words.names_arguments:
        brief = _markup('<span class="tool-brief" dir="auto">{brief}</span>', brief=mark_hidden(call.brief))
    if call.is_long_running:
        job = render_to_string("chat/job_place.html", {"call": call})
    return _markup(
        '<details class="tool"{attributes}>\n'
        '<summary><span class="tool-sign" aria-hidden="true"></span><span class="tool-name" dir="auto">'
        '<span class="tool-plain">{plain}</span><span class="tool-running">{running}…</span>'
        '<span class="tool-done">{done}</span>{code}</span>{brief}<span class="tool-outcome"></span></summary>\n'
        '<div class="tool-body">{arguments}\n<div class="results"></div></div>\n</details>\n{job}',
        attributes=attributes,
        plain=mark_hidden(call.words.plain),
        running=mark_hidden(call.words.running),
        done=mark_hidden(call.words.done),
        code=code,
        brief=brief,
        arguments=_arguments(call, shows_details=shows_details),
        job=job,
    )


def _arguments(call: CallBlock, *, shows_details: bool) -> SafeString:
    if not call.args:
        return _markup('<p class="muted">{sentence}</p>', sentence=gettext("No details were needed."))
    labels = labels_of(name for name, _ in call.args)
    rows = []
    for name, value in call.args:
        label = name if shows_details else labels[name]
        rows.append(
            _markup(
                '<dt dir="auto">{label}</dt><dd dir="auto">{value}</dd>',
                label=mark_hidden(label),
                value=mark_hidden(value),
            )
        )
    return _markup('<dl class="args">{rows}</dl>', rows=SafeString("".join(rows)))


def _response(response: ResponseBlock) -> SafeString:
    attributes = _attributes(
        data_response_to=response.call_id,
        data_state=response.state,
        data_allowed=response.allowed_at is not None,
        data_seconds=response.seconds,
    )
    allowed = ""
    if response.allowed_at:
        allowed = render_to_string("chat/allowed.html", {"allowed_at": response.allowed_at})
    return _markup(
        '<details class="tool lone-result"{attributes}>\n'
        '<summary><span class="tool-sign" aria-hidden="true"></span><span class="tool-name">{title}</span></summary>\n'
        '<div class="tool-body"><div class="result"><pre tabindex="0" dir="auto" aria-label="{title}">{text}</pre>'
        "{hidden}{allowed}</div></div>\n</details>\n",
        attributes=attributes,
        title=escape_hidden(gettext("Result: %(tool)s") % {"tool": as_words(response.name)}),
        text=mark_hidden(response.text),
        hidden=_hidden_notice(response.hidden),
        allowed=allowed,
    )


def _hidden_notice(hidden: int | None) -> SafeString:
    """Return a sentence about the number of characters not shown; empty for 0. None is an unknown number."""
    if hidden == 0:
        return SafeString()
    sentence = gettext("More is not shown.")
    if hidden is not None:
        sentence = ngettext(
            "%(number)s more character is not shown.", "%(number)s more characters are not shown.", hidden
        ) % {"number": hidden}
    return _markup('<p class="muted">{sentence}</p>', sentence=sentence)


def _edit_button() -> SafeString:
    return _markup(
        '<div class="actions"><button class="plain edit" type="button" data-edit>{words}</button></div>\n',
        words=mark_safe(gettext('Edit<span class="visually-hidden"> this message</span>')),  # noqa: S308 - the catalogue's
    )
