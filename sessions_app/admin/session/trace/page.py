"""Data of the trace page of an invocation: waterfall and totals, in a constant number of queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from runtime.valid_text import storable
from sessions_app.admin.framework.links import graph_url, session_url, step_url
from sessions_app.admin.framework.runs import LARGE_OF_INVOCATION
from sessions_app.admin.session.trace.axis import Axis
from sessions_app.admin.session.trace.step import StepView, load_child_step, load_step, number_in
from sessions_app.conf import Conf, conf
from sessions_app.history.costs import Usage
from sessions_app.history.traces.entries import MAX_ENTRIES, TraceEntry, answers_of_person, entries_of
from sessions_app.history.traces.spans import (
    Span,
    SpanKind,
    derive_spans,
    waiting_calls,
    with_branches_in_place,
)
from sessions_app.models import Invocation, Session, ToolJob
from sessions_app.rendering.audit_values import format_cost, format_duration

MIN_BAR = 3.0
LABELS: dict[SpanKind, Any] = {
    SpanKind.AGENT: gettext_lazy("agent"),
    SpanKind.MODEL: gettext_lazy("model"),
    SpanKind.TOOL: gettext_lazy("tool"),
    SpanKind.NODE: gettext_lazy("node"),
    SpanKind.QUEUE: gettext_lazy("waits for its turn"),
    SpanKind.PERSON: gettext_lazy("waits for an answer"),
    SpanKind.JOB: gettext_lazy("waits for a job"),
}


@dataclass(frozen=True)
class Bar:
    """Drawing of a span, in units of the axis.

    Attributes:
        before_first_word: part of the width before the first word of a model call; 0 for all other spans.
    """

    left: float
    width: float
    before_first_word: float


@dataclass(frozen=True)
class SpanRow:
    """A line of the waterfall.

    Attributes:
        anchor: target of links to the span of an event; empty except for the first span of each event.
    """

    span: Span
    anchor: str
    kind: str
    bar: Bar
    offset: str
    duration: str
    first_word: str
    cost: str
    event_url: str
    step_url: str


@dataclass(frozen=True)
class Total:
    """Sums over the model calls of an invocation.

    Attributes:
        unpriced: models without a price. Their calls are not part of the cost.
    """

    usage: Usage
    model_calls: int
    cost: float
    unpriced: list[str]


@dataclass(frozen=True)
class TracePage:
    """Template context of the page.

    Attributes:
        duration: time from the message to the last event, waits included.
        is_cut: True if the invocation has more events than the page reads.
        graph_url: URL of the graph; empty without a workflow.
        steps: `seq` of each event with a recorded model request.
        step: the model call in the URL.
    """

    session: Session
    invocation_id: str
    invocation: Invocation | None
    rows: list[SpanRow]
    total: Total
    duration: str
    first_word: str
    has_breaks: bool
    is_cut: bool
    events_url: str
    graph_url: str
    steps: list[int]
    step: StepView | None

    @property
    def previous_step(self) -> str:
        """URL of the model call before the shown call."""
        if self.step is None:
            return ""
        return self._step_url(max((seq for seq in self.steps if seq < self.step.seq), default=0))

    @property
    def next_step(self) -> str:
        """URL of the model call after the shown call."""
        if self.step is None:
            return ""
        return self._step_url(min((seq for seq in self.steps if seq > self.step.seq), default=0))

    def _step_url(self, seq: int) -> str:
        return step_url(self.session.pk, self.invocation_id, seq) if seq else ""

    @property
    def cost(self) -> str:
        """Cost of the model calls whose models have a price."""
        return format_cost(self.total.cost)


def load_trace_page(session: Session, query: QueryDict) -> TracePage | None:
    """Load the requested page; return None if the session has no such invocation or model call."""
    invocation_id = storable(query.get("invocation", ""))
    invocations = Invocation.objects.filter(session=session, invocation_id=invocation_id)
    invocation = invocations.defer(*LARGE_OF_INVOCATION).first()
    entries = entries_of(session.pk, invocation_id)
    if not entries and invocation is None:
        return None
    is_cut = len(entries) > MAX_ENTRIES
    steps = [entry.seq for entry in entries if entry.recorded]
    step = None
    if "step" in query:
        step = _step(session, entries, steps, query)
        if step is None:
            return None
    spans = _spans(session, invocation, entries[:MAX_ENTRIES])
    axis = Axis(spans)
    begin = min((span.start for span in spans), default=0.0)
    last = max((span.end or span.start for span in spans), default=begin)
    url = ""
    if any(entry.node for entry in entries):
        url = graph_url(session.pk, invocation_id)
    return TracePage(
        session=session,
        invocation_id=invocation_id,
        invocation=invocation,
        rows=_rows(session, invocation_id, spans, axis, begin),
        total=_total(spans, conf()),
        duration=_seconds(last - begin),
        first_word=_first_word(spans, begin),
        has_breaks=axis.has_breaks,
        is_cut=is_cut,
        events_url=session_url(session.pk, invocation=invocation_id),
        graph_url=url,
        steps=steps,
        step=step,
    )


def _step(
    session: Session, entries: Sequence[TraceEntry], steps: Sequence[int], query: QueryDict
) -> StepView | None:
    """Load the model call in the query string, compared with another step; None without such a call.

    The other step is in the query string, too; by default it is the previous step of the same agent.
    """
    seq = number_in(query.get("step", ""))
    if "child" in query:
        if not any(entry.seq == seq and entry.child_calls for entry in entries):
            return None
        return load_child_step(session, seq, number_in(query.get("child", ""), otherwise=-1))
    if seq not in steps:
        return None
    compared_with = number_in(query.get("compare", ""))
    if compared_with not in steps:
        compared_with = _previous_step(entries, seq)
    return load_step(session, seq, compared_with)


def _previous_step(entries: Sequence[TraceEntry], seq: int) -> int:
    """Return the `seq` of the previous recorded model call of the same agent; 0 without such a call."""
    last_of_agent: dict[str, int] = {}
    for entry in entries:
        if entry.seq == seq:
            return last_of_agent.get(entry.author, 0)
        if entry.recorded:
            last_of_agent[entry.author] = entry.seq
    return 0


def _spans(session: Session, invocation: Invocation | None, entries: Sequence[TraceEntry]) -> list[Span]:
    calls = waiting_calls(entries)
    jobs = ToolJob.objects.filter(session=session, call_id__in=calls).values_list("call_id", flat=True)
    times: dict[str, float] = {}
    if invocation is not None and invocation.started_at is not None:
        # A retried invocation has a later start; the events of its first attempt are older.
        started_at = invocation.started_at.timestamp()
        if not entries or started_at <= entries[0].at:
            times = {"queued_at": invocation.created_at.timestamp(), "started_at": started_at}
    last = entries[-1].seq if entries else 0
    answers = answers_of_person(session.pk, last, calls)
    return with_branches_in_place(derive_spans(entries, answers=answers, jobs=set(jobs), **times))


def _rows(
    session: Session, invocation_id: str, spans: Sequence[Span], axis: Axis, begin: float
) -> list[SpanRow]:
    rows: list[SpanRow] = []
    # Several spans may end with one event: links to the event's span go to the first of them.
    linked: set[int | None] = {None}
    for span in spans:
        # An agent's span has the `seq` of its first event, at which a span within it ends: links go to that span.
        is_target = span.kind is not SpanKind.AGENT and span.seq not in linked
        anchor = f"span-{span.seq}" if is_target else ""
        url = ""
        if span.kind is SpanKind.MODEL and not span.is_estimated and span.seq:
            url = step_url(session.pk, invocation_id, span.seq, span.child)
        rows.append(_row(session, span, axis, begin, anchor=anchor, url=url))
        if is_target:
            linked.add(span.seq)
    return rows


def _row(session: Session, span: Span, axis: Axis, begin: float, *, anchor: str, url: str) -> SpanRow:
    left = axis.position(span.start)
    right = axis.position(span.end or span.start)
    word = axis.position(span.start + (span.first_word or 0.0)) - left
    cost = span.usage.cost(span.model, conf()) or 0
    return SpanRow(
        span=span,
        anchor=anchor,
        kind=str(LABELS[span.kind]),
        bar=Bar(left, max(MIN_BAR, round(right - left, 1)), max(0.0, round(word, 1))),
        offset=_seconds(span.start - begin),
        duration=_seconds(span.seconds) or _("still waits"),
        first_word=_seconds(span.first_word),
        cost=format_cost(cost),
        event_url="" if span.seq is None else session_url(session.pk, seq=span.seq),
        step_url=url,
    )


def _total(spans: Sequence[Span], settings: Conf) -> Total:
    # The span of a tool has the tokens of the agent behind it: child calls would count twice.
    usage = Usage()
    cost = 0.0
    unpriced = set()
    for span in spans:
        if not span.usage or span.child is not None:
            continue
        usage += span.usage
        cost_of_span = span.usage.cost(span.model, settings)
        if cost_of_span is None:
            unpriced.add(span.model or _("unnamed"))
        else:
            cost += cost_of_span
    model_calls = sum(span.kind is SpanKind.MODEL for span in spans)
    return Total(usage, model_calls, cost, sorted(unpriced))


def _first_word(spans: Sequence[Span], begin: float) -> str:
    """Return the time from the message to the first text or call of a model; empty when it was not recorded."""
    words = []
    for span in spans:
        if span.child is None and span.first_word is not None:
            words.append(span.start + span.first_word)
    if not words:
        return ""
    return _seconds(min(words) - begin)


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return format_duration(timedelta(seconds=max(0.0, seconds)))
