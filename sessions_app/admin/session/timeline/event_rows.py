"""Rows of a session's timeline: a row for each event, with its parts, state changes and artifacts."""

import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from django.utils.translation import gettext as _

from runtime.events.node_info import NodeInfo
from sessions_app.admin.framework.stored_events import AuditEvent
from sessions_app.admin.session.timeline.calls import (
    CallView,
    answer_state,
    confirmation_requests,
    parts_in_json,
)
from sessions_app.admin.session.timeline.event_links import EventLinks
from sessions_app.base.codec import event_to_show, json_object
from sessions_app.history.call_state import CallState
from sessions_app.history.state_changes import KeyChange, state_changes
from sessions_app.models import Artifact, Event, EventKind, ToolJob
from sessions_app.models.actor_columns import ActorColumns
from sessions_app.rendering.audit_values import (
    excerpt,
    format_beginning,
    format_duration,
    format_json,
    format_stored_json,
    truncate,
)
from sessions_app.rendering.markdown.citations import Source
from sessions_app.rendering.once_filter import once
from sessions_app.rendering.sources import sources_of

logger = logging.getLogger(__name__)
logger.addFilter(once)
UNREADABLE = "Event %s of session %s cannot be shown in the admin"
MAX_ITEMS = 100
"""Largest number of parts, of keys and of files of an event on the page."""
PartKind = Literal["text", "thought", "call", "response", "other"]


@dataclass(frozen=True)
class PartView:
    """A part of an event's content.

    Attributes:
        call: answers and outcome of a call; None for a confirmation request and for all other parts.
        partners: the `seq` of each response to this call, or of the call of this response.
        is_failed: True for a response with a failure.
        cause: address of the page with the exception behind the failure; empty without an exception.
    """

    kind: PartKind
    title: str
    content: str
    call: CallView | None = None
    partners: list[int] = field(default_factory=list)
    job: ToolJob | None = None
    is_failed: bool = False
    cause: str = ""


@dataclass(frozen=True)
class ArtifactView:
    """An artifact version in the event's artifact delta; `artifact` is None when it was deleted."""

    filename: str
    version: int
    artifact: Artifact | None


@dataclass(frozen=True)
class Row:
    """An event of the timeline.

    Attributes:
        gap: time since the previous event; empty for the first event.
        rewound_by: `seq` of the rewind of the event; None for an effective event.
        undoes: for a rewind of a rewind, `seq` of the undone rewind; None for all other events.
        body: the event's JSON; empty when the event is too large for the page.
        raw: the stored JSON; empty when the event is too large for the page.
        is_whole: False when the event is too large for the page.
        answered: ids of the calls that an event too large for the page answers.
        large_delta: keys in the state delta of an event too large for the page.
        left_out: number of parts, keys and files not shown.
        sources: sources of the agent's answer.
        cause: address of the page with the exception behind the event's own error; empty without an exception.
        actor: the row with the actor of a message, an answer or an act; None for events of agents.
    """

    event: Event
    gap: str
    summary: str
    rewound_by: int | None
    raw: str
    undoes: int | None = None
    parts: list[PartView] = field(default_factory=list)
    changes: list[KeyChange] = field(default_factory=list)
    artifacts: list[ArtifactView] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    body: Mapping[str, Any] = field(default_factory=dict)
    is_whole: bool = True
    answered: frozenset[str] = frozenset()
    large_delta: Sequence[str] = ()
    left_out: int = 0
    sources: Sequence[Source] = ()
    actor: ActorColumns | None = None
    cause: str = ""

    @property
    def kind(self) -> str:
        """Main content of the event; "node" when it has only the result of a workflow's node."""
        if self.event.kind == EventKind.STATE and self.body.get("nodeInfo"):
            return "node"
        return str(self.event.kind)

    @property
    def is_failed(self) -> bool:
        """True if the event is an error, or a response in it reports a failure."""
        return bool(self.body.get("errorCode")) or any(part.is_failed for part in self.parts)

    @property
    def calls(self) -> list[CallView]:
        """The agent's calls in the event."""
        return [part.call for part in self.parts if part.call]

    @property
    def said(self) -> str:
        """Beginning of the texts in the event; empty without a text."""
        return excerpt(" · ".join(part.content for part in self.parts if part.kind == "text"))

    @property
    def changed_keys(self) -> list[str]:
        """Keys in the state delta of the event."""
        return [*self.large_delta, *(change.key for change in self.changes)]


def read_stored_or_none(event: Event) -> AuditEvent | None:
    """Return the event's JSON; None for JSON that Python cannot parse, logged once."""
    try:
        return AuditEvent.of(event)
    except (ValueError, RecursionError):  # Too many digits, too deep: PostgreSQL stores what Python refuses.
        logger.exception(UNREADABLE, event.seq, event.session_id)
        return None


def build_row_or_none(
    event: Event, stored: AuditEvent | None, *, gap: timedelta | None, links: EventLinks
) -> Row | None:
    """Build the row of an event; None for an event of an unexpected shape, logged once."""
    if stored is None:
        return None
    try:
        return build_row(event, stored, gap=gap, links=links)
    except Exception:  # One odd event must not take down the page.
        logger.exception(UNREADABLE, event.seq, event.session_id)
        return None


def build_row(event: Event, stored: AuditEvent, *, gap: timedelta | None, links: EventLinks) -> Row:
    """Build the row of an event; `gap` is the time since the previous event, None for the first.

    Raises:
        TypeError: the event is no JSON object.
    """
    shown_gap = "" if gap is None else format_duration(gap)
    if not stored.is_parsed:
        return _large_row(event, stored, shown_gap, links)
    if not isinstance(stored.body, dict):
        raise TypeError("The event is no JSON object.")
    actions = stored.body.get("actions") or {}
    stored_parts = parts_in_json(stored.body)
    requests = confirmation_requests(stored.body)
    parts = [_part_view(event, part, links, requests) for part in stored_parts[:MAX_ITEMS]]
    changes = state_changes(actions.get("stateDelta") or {}, stored.before)
    artifacts = [
        ArtifactView(name, version, links.artifacts.get((name, version)))
        for name, version in (actions.get("artifactDelta") or {}).items()
    ]
    sources: Sequence[Source] = ()
    if "groundingMetadata" in stored.body:
        sources = sources_of(event_to_show(stored.body)).listed
    items = (stored_parts, changes, artifacts)
    undoes = links.undone_rewind(event.seq)
    return Row(
        event,
        gap=shown_gap,
        summary=_summarize(stored.body, parts, changes[:MAX_ITEMS], artifacts[:MAX_ITEMS]),
        rewound_by=links.rewound_by(event.seq),
        # The stored text itself: parsed and written again, numbers would lose digits.
        raw=format_stored_json(stored.text or ""),
        undoes=undoes,
        parts=parts,
        changes=changes[:MAX_ITEMS],
        artifacts=artifacts[:MAX_ITEMS],
        notes=_notes(stored.body, actions, undoes),
        body=stored.body,
        actor=links.actors.get(event.seq),
        cause=links.causes.get(event.seq, {}).get("", ""),
        sources=sources,
        left_out=sum(max(0, len(found) - MAX_ITEMS) for found in items),
    )


def _large_row(event: Event, stored: AuditEvent, gap: str, links: EventLinks) -> Row:
    """Build the row of an event too large for the page, from columns that PostgreSQL computed."""
    raw = ""
    if stored.text is not None:
        raw = format_beginning(stored.text, event.length or 0)  # type: ignore[attr-defined]
    answers = links.large_answers.get(event.seq, {})
    return Row(
        event,
        gap=gap,
        summary=excerpt(" · ".join(answers.values()) or stored.line),
        rewound_by=links.rewound_by(event.seq),
        raw=raw,
        is_whole=False,
        actor=links.actors.get(event.seq),
        answered=frozenset(answers),
        large_delta=links.large_deltas.get(event.seq, ()),
    )


def _part_view(
    event: Event, part: Mapping[str, Any], links: EventLinks, requests: Container[str]
) -> PartView:
    causes = links.causes.get(event.seq, {})
    if call := part.get("functionCall"):
        view = links.call_view(event, call)
        return PartView(
            "call",
            view.title,
            format_json(call.get("args") or {}),
            call=None if call.get("id") in requests else view,
            partners=[answer.seq for answer in view.answers],
            job=view.job,
        )
    if response := part.get("functionResponse"):
        call_id = response.get("id") or ""
        state = answer_state(event.author, response.get("name"), response.get("response"))
        partners = []
        if call_id in links.calls:
            partners.append(links.calls[call_id])
        return PartView(
            "response",
            response.get("name") or "",
            format_json(response.get("response")),
            partners=partners,
            job=links.jobs.get(call_id),
            is_failed=call_id in causes or state == CallState.FAILED,
            cause=causes.get(call_id, ""),
        )
    if part.get("text") is not None:
        text = truncate(part["text"])
        if part.get("thought"):
            return PartView("thought", _("Thought"), text)
        return PartView("text", _("Text"), text)
    return _other_part(part)


def _other_part(part: Mapping[str, Any]) -> PartView:
    """Return any other part as JSON, without the bytes of a file; the raw JSON has them."""
    blob = part.get("inlineData")
    if not blob:
        return PartView("other", ", ".join(part), format_part(part))
    # Base64 has four characters for three bytes.
    size = len(blob.get("data") or "") * 3 // 4
    mime_type = blob.get("mimeType") or ""
    title = _("File %(type)s, about %(size)d bytes") % {"type": mime_type, "size": size}
    return PartView("other", title, format_part(part))


def format_part(part: Mapping[str, Any]) -> str:
    """Return a part of a content as indented JSON, without the bytes of a file."""
    blob = json_object(part, "inlineData")
    if "data" in blob:
        # Bytes of a file are long and tell a reader nothing.
        part = {**part, "inlineData": {**blob, "data": "…"}}
    return format_json(part)


def _summarize(
    body: Mapping[str, Any],
    parts: Iterable[PartView],
    changes: list[KeyChange],
    artifacts: list[ArtifactView],
) -> str:
    """Return a line about the error of the event, else its content, else its node, else its changed keys and files."""
    if body.get("errorCode"):
        return excerpt(f"{body['errorCode']}: {body.get('errorMessage') or ''}")
    content = " · ".join(_summarize_part(part) for part in parts if part.kind != "thought")
    if not content and body.get("nodeInfo"):
        node = NodeInfo.model_validate(body["nodeInfo"])
        return excerpt(f"{node.name} → {format_json(body.get('output'))}")
    names = [change.key for change in changes] + [f"{item.filename} v{item.version}" for item in artifacts]
    return excerpt(content or ", ".join(names))


def _summarize_part(part: PartView) -> str:
    if part.kind == "response":
        return f"{part.title} → {part.content}"
    return part.content if part.kind == "text" else part.title


def _notes(body: Mapping[str, Any], actions: Mapping[str, Any], undoes: int | None) -> list[str]:
    """Return phrases for the event's actions and flags."""
    notes = []
    if actions.get("transferToAgent"):
        notes.append(_("transfers to %(agent)s") % {"agent": actions["transferToAgent"]})
    if undoes is not None:
        notes.append(_("switches back to the version before the rewind #%(seq)d") % {"seq": undoes})
    elif actions.get("rewindBeforeInvocationId"):
        notes.append(_("rewinds before %(invocation)s") % {"invocation": actions["rewindBeforeInvocationId"]})
    flags = {
        "escalate": _("escalates"),
        "skipSummarization": _("skips summarization by the model"),
        "endOfAgent": _("ends its agent"),
        "compaction": _("compacts earlier events"),
        "requestedToolConfirmations": _("asks for a confirmation"),
        "requestedAuthConfigs": _("asks for a credential"),
    }
    notes += [words for name, words in flags.items() if actions.get(name)]
    if body.get("longRunningToolIds"):
        notes.append(_("starts long-running calls"))
    if body.get("interrupted"):
        notes.append(_("was interrupted"))
    return notes
