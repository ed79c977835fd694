"""Transcript as a Markdown file. No text can leave its place, forge an entry or hide later entries.

Markdown of a user or an agent is in a block quote: its end closes the code and HTML blocks within. All other text is
in a fence or has its markup escaped.
"""

import re
from itertools import chain

from django.utils import timezone
from django.utils.dateformat import format as format_time
from django.utils.translation import gettext, ngettext

from sessions_app.data_protection.transcripts.entries import Entry, Piece
from sessions_app.models import Session
from sessions_app.rendering.faces import app_face
from sessions_app.rendering.markdown.citations import Source
from sessions_app.rendering.workflow_card import NodeView, WorkflowCard

MARKUP = re.compile(r"([\\`*_\[\]<>#~|])")
LINE_END = re.compile("\r\n|\r|\n")
"""Line endings of Markdown (https://spec.commonmark.org/0.31.2/#line-ending)."""
TIME_FORMAT = "j F Y, H:i T"


def markdown_head(session: Session) -> str:
    """Return the title of the file and a line about the session."""
    title = _escape_line(session.title or gettext("Chat"))
    began = format_time(timezone.localtime(session.created_at), TIME_FORMAT)
    facts = gettext("{person} with {agent}, begun {time}").format(
        person=_escape_line(session.user.get_username()),
        agent=_escape_line(app_face(session.app_name).name),
        time=began,
    )
    return f"# {title}\n\n{facts}\n"


def write_markdown(entry: Entry) -> str:
    """Return an entry as Markdown, with a heading if it has an author."""
    at = format_time(timezone.localtime(entry.at), TIME_FORMAT)
    heading = ""
    if entry.author:
        heading = f"\n## {_escape_line(entry.author)}, {at}\n"
    steps = "".join(f"\n{_write_card(card)}\n" for card in entry.cards)
    return steps + heading + "".join(f"\n{_write_piece(piece)}\n" for piece in entry.pieces)


def _write_piece(piece: Piece) -> str:
    match piece.kind:
        case "said" | "prose":
            return _quote(piece.text)
        case "verbatim":
            return f"{_escape_line(piece.label)}:\n\n{_fence(piece.text)}"
        case "sources":
            lines = "\n".join(map(_write_source, piece.sources))
            return f"{_escape_line(piece.label)}:\n\n{lines}"
        case "file" | "picture":
            return gettext("File: {name}").format(name=_escape_line(piece.text))
        case "error":
            return f"**{gettext('Error:')}** {_escape_line(piece.text)}"
        case _:
            return f"*{_escape_line(piece.text)}*"


def _write_card(card: WorkflowCard) -> str:
    """Return a workflow as a list of its nodes; their outputs follow."""
    counted = gettext("%(done)s of %(count)s steps") % {"done": card.done, "count": card.count}
    lines = [f"*{_escape_line(card.face.name)}: {counted}*", ""]
    outputs = []
    if card.hidden:
        hidden = ngettext("%(count)s earlier step", "%(count)s earlier steps", card.hidden)
        lines.append(f"- {hidden % {'count': card.hidden}}")
    for node in chain.from_iterable(card.rows):
        lines.append(f"- {_node_line(node)}")
        lines += [f"  - {_node_line(below)}" for below in node.inner]
        if node.hidden:
            more = ngettext("%(count)s more step", "%(count)s more steps", node.hidden)
            lines.append(f"  - {more % {'count': node.hidden}}")
        if node.output:
            label = gettext("Result of %(name)s") % {"name": node.name}
            outputs.append(f"\n\n{_escape_line(label)}:\n\n{_fence(node.output)}")
    return "\n".join(lines) + "".join(outputs)


def _node_line(node: NodeView) -> str:
    facts = [node.words]
    if node.attempts > 1:
        facts.append(gettext("attempt %(number)s") % {"number": node.attempts})
    if node.duration:
        facts.append(node.duration)
    return f"{_escape_line(node.name)}: {', '.join(facts)}"


def _write_source(source: Source) -> str:
    mark = f"{source.number}." if source.number else "-"
    title = _escape_line(source.title)
    return f"{mark} [{title}](<{source.url}>)" if source.url else f"{mark} {title}"


def _escape_line(text: str) -> str:
    """Return a text on one line, with its markup escaped."""
    return MARKUP.sub(r"\\\1", " ".join(text.split()))


def _quote(text: str) -> str:
    # Each line is marked, empty ones too: without a mark on each line Markdown could leave the quote.
    return "\n".join(f"> {line}" if line else ">" for line in LINE_END.split(text.strip("\r\n")))


def _fence(text: str) -> str:
    """Return a text in a code block."""
    # Only a fence of the same length or longer ends the block, so the text cannot end it.
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
