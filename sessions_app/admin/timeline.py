"""Rows of a session's timeline: events as an auditor reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from django.utils.translation import gettext as _

from sessions_app.admin.formatting import call_text, duration, excerpt, pretty, shown
from sessions_app.history.rewinds import RewoundRange
from sessions_app.history.state_changes import StateChange, state_changes
from sessions_app.models import Artifact, Event, ToolJob

PartKind = Literal["text", "thought", "call", "response", "other"]


@dataclass(frozen=True)
class Surroundings:
    """What the rows of a page point to.

    Attributes:
        calls: seq of the call event, by call id.
        responses: seqs of the response events, by call id; a long-running call may have several.
        jobs: by call id.
        artifacts: by file name and version.
        rewound: the parts of the log that were rewound (spec R3).
    """

    calls: Mapping[str, int] = field(default_factory=dict)
    responses: Mapping[str, list[int]] = field(default_factory=dict)
    jobs: Mapping[str, ToolJob] = field(default_factory=dict)
    artifacts: Mapping[tuple[str, int], Artifact] = field(default_factory=dict)
    rewound: Sequence[RewoundRange] = field(default=())

    def rewound_by(self, seq: int) -> int | None:
        """The last rewind that took out the event; None for an event that counts, and for a rewind itself."""
        return next((part.last for part in self.rewound if seq in part and seq != part.last), None)


@dataclass(frozen=True)
class PartView:
    """One part of the content.

    Attributes:
        partners: seqs of the responses to this call, or of the call of this response.
    """

    kind: PartKind
    title: str
    content: str
    partners: list[int] = field(default_factory=list)
    job: ToolJob | None = None


@dataclass(frozen=True)
class ArtifactView:
    """A version of a file that the event names; `artifact` is None when it is not kept any more."""

    filename: str
    version: int
    artifact: Artifact | None


@dataclass(frozen=True)
class Row:
    """One event.

    Attributes:
        rewound_by: the event that undid it; None when it counts.
        raw: its JSON as the database keeps it.
    """

    event: Event
    gap: str
    summary: str
    parts: list[PartView]
    changes: list[StateChange]
    artifacts: list[ArtifactView]
    notes: list[str]
    rewound_by: int | None
    raw: str


def parts_of(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parts of an event's content, in order."""
    content = body.get("content") or {}
    return content.get("parts") or []


def call_ids(body: Mapping[str, Any], key: Literal["functionCall", "functionResponse"]) -> list[str]:
    """The ids of the calls that an event makes or answers."""
    return [part[key]["id"] for part in parts_of(body) if (part.get(key) or {}).get("id")]


def summary(event: Event) -> str:
    """One line that says what happened."""
    return build_row(event, raw="", gap=None, around=Surroundings()).summary


def build_row(event: Event, *, raw: str, gap: timedelta | None, around: Surroundings) -> Row:
    """The row of an event; `gap` is the time since the event before it, None for the first."""
    actions = event.body.get("actions") or {}
    parts = [_part_view(part, around) for part in parts_of(event.body)]
    changes = state_changes(actions.get("stateDelta") or {}, event.before)
    artifacts = [
        ArtifactView(name, version, around.artifacts.get((name, version)))
        for name, version in (actions.get("artifactDelta") or {}).items()
    ]
    return Row(
        event=event,
        gap="" if gap is None else duration(gap),
        summary=_one_line(event.body, parts, changes, artifacts),
        parts=parts,
        changes=changes,
        artifacts=artifacts,
        notes=_notes(event.body, actions),
        rewound_by=around.rewound_by(event.seq),
        raw=shown(raw),
    )


def _part_view(part: Mapping[str, Any], around: Surroundings) -> PartView:
    if call := part.get("functionCall"):
        call_id = call.get("id") or ""
        return PartView(
            "call",
            call_text(call.get("name") or "", call.get("args")),
            shown(pretty(call.get("args") or {})),
            partners=list(around.responses.get(call_id, ())),
            job=around.jobs.get(call_id),
        )
    if response := part.get("functionResponse"):
        call_id = response.get("id") or ""
        return PartView(
            "response",
            response.get("name") or "",
            shown(pretty(response.get("response"))),
            partners=[around.calls[call_id]] if call_id in around.calls else [],
            job=around.jobs.get(call_id),
        )
    if part.get("text") is not None:
        thought = bool(part.get("thought"))
        return PartView(
            "thought" if thought else "text", _("Thought") if thought else _("Text"), shown(part["text"])
        )
    return _other_part(part)


def _other_part(part: Mapping[str, Any]) -> PartView:
    """Anything else as JSON, the bytes of a file left out: they are in the raw JSON."""
    blob = part.get("inlineData")
    if not blob:
        return PartView("other", ", ".join(part), shown(pretty(part)))
    size = len(blob.get("data") or "") * 3 // 4
    mime_type = blob.get("mimeType") or ""
    title = _("File %(type)s, about %(size)d bytes") % {"type": mime_type, "size": size}
    return PartView("other", title, pretty({**part, "inlineData": {**blob, "data": "…"}}))


def _one_line(
    body: Mapping[str, Any],
    parts: Iterable[PartView],
    changes: list[StateChange],
    artifacts: list[ArtifactView],
) -> str:
    """One line that says what happened; what there is first of: error, content, state, files."""
    if body.get("errorCode"):
        return excerpt(f"{body['errorCode']}: {body.get('errorMessage') or ''}")
    said = " · ".join(_part_summary(part) for part in parts if part.kind != "thought")
    names = [change.key for change in changes] + [f"{item.filename} v{item.version}" for item in artifacts]
    return excerpt(said or ", ".join(names))


def _part_summary(part: PartView) -> str:
    if part.kind == "response":
        return f"{part.title} → {part.content}"
    return part.content if part.kind == "text" else part.title


def _notes(body: Mapping[str, Any], actions: Mapping[str, Any]) -> list[str]:
    """What else the event does or says about itself, in words."""
    notes = []
    if actions.get("transferToAgent"):
        notes.append(_("transfers to %(agent)s") % {"agent": actions["transferToAgent"]})
    if actions.get("rewindBeforeInvocationId"):
        notes.append(_("rewinds before %(invocation)s") % {"invocation": actions["rewindBeforeInvocationId"]})
    flags = {
        "escalate": _("escalates"),
        "skipSummarization": _("is final: no summary by the model"),
        "endOfAgent": _("ends its agent"),
        "compaction": _("compacts what came before"),
        "requestedToolConfirmations": _("asks for a confirmation"),
        "requestedAuthConfigs": _("asks for a credential"),
    }
    notes += [words for name, words in flags.items() if actions.get(name)]
    if body.get("longRunningToolIds"):
        notes.append(_("waits for long-running calls"))
    if body.get("interrupted"):
        notes.append(_("was interrupted"))
    return notes
