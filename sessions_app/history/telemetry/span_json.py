"""Spans of a session as JSON for adk-web, derived from the log, without text of the conversation."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from sessions_app.history.telemetry.span_attributes import OPERATIONS, attributes_of
from sessions_app.history.traces.entries import MAX_ENTRIES, entries_of
from sessions_app.history.traces.spans import WAITS, Span, SpanKind, derive_spans
from sessions_app.models import Event, Session

MAX_INVOCATIONS = 20
"""Largest number of invocations, the newest first."""
_NAMES = {**OPERATIONS, SpanKind.MODEL: "generate_content"}


def spans_of_session(session: Session) -> list[dict[str, Any]]:
    """Return the ended spans of the newest invocations, oldest first, below a span for each invocation."""
    newest: dict[str, None] = {}
    events = session.events.order_by("-seq").values_list("invocation_id", flat=True)
    for invocation_id in events[: MAX_INVOCATIONS * MAX_ENTRIES].iterator():
        newest.setdefault(invocation_id)
        if len(newest) == MAX_INVOCATIONS:
            break
    found: list[dict[str, Any]] = []
    for invocation_id in reversed(newest):
        spans = derive_spans(entries_of(session.pk, invocation_id))
        found += _of_invocation(session, invocation_id, spans)
    return found


def _of_invocation(session: Session, invocation_id: str, spans: Sequence[Span]) -> Iterator[dict[str, Any]]:
    ended = [span for span in spans if span.end is not None]
    if not ended:
        return
    # Spans are derived again for each request: with derived ids, the same span has the same id.
    trace_id = sha256(f"{session.pk} {invocation_id}".encode()).hexdigest()[:32]
    common = {
        "gcp.vertex.agent.invocation_id": invocation_id,
        "gcp.vertex.agent.session_id": session.key,
        "gen_ai.conversation.id": session.key,
    }
    event_ids = _event_ids(session, ended)
    begin = min(span.start for span in ended)
    end = max(span.end or 0.0 for span in ended)
    root = agent = f"{trace_id[:12]}0000"
    yield _json("invocation", begin, end, (trace_id, root, None), common)
    for number, span in enumerate(ended, start=1):
        span_id = f"{trace_id[:12]}{number:04x}"
        parent = agent
        if span.kind is SpanKind.AGENT:
            parent = root
            agent = span_id
        attributes = {**common, **attributes_of(span), "gen_ai.operation.name": _NAMES.get(span.kind, "wait")}
        if span.seq in event_ids:
            attributes["gcp.vertex.agent.event_id"] = event_ids[span.seq]
        yield _json(_name_of(span), span.start, span.end or 0.0, (trace_id, span_id, parent), attributes)


def _event_ids(session: Session, spans: Sequence[Span]) -> dict[int, str]:
    numbers = {span.seq for span in spans if span.seq is not None}
    rows = Event.objects.filter(session=session, seq__in=numbers).values_list("seq", "body__id")
    return {seq: str(event_id) for seq, event_id in rows}


def _name_of(span: Span) -> str:
    name = "wait" if span.kind in WAITS else _NAMES[span.kind]
    return f"{name} {span.name}".strip()


def _json(
    name: str, start: float, end: float, ids: tuple[str, str, str | None], attributes: dict[str, Any]
) -> dict[str, Any]:
    trace_id, span_id, parent = ids
    return {
        "name": name,
        "start_time": int(start * 1e9),
        "end_time": int(end * 1e9),
        "trace_id": trace_id,
        "span_id": span_id,
        "parent_span_id": parent,
        "attributes": attributes,
        "logs": [],
    }
