"""Spans of an invocation, derived from its log entries: pure functions.

A span is an interval with a cause: an agent call, a model call, a tool call, a wait. No span is stored, so a trace
exists for every invocation in the log and is erased with its session.

The log has an event at the end of each of these, so the ends are exact. The start of a model call is recorded with its
event; otherwise the event before, on the same branch, stands for it (`is_estimated`). A tool call starts with the event
of the call, or with the person's answer to a question about the call. A wait lasts from the asking event to the
answering message, which may be in a later invocation.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sessions_app.history.costs import Usage
from sessions_app.history.traces.entries import CallEntry, ChildCall, TraceEntry


class SpanKind(StrEnum):
    """Cause of a span. During the last three, the waits, the invocation does not run."""

    AGENT = "agent"
    MODEL = "model"
    TOOL = "tool"
    NODE = "node"
    QUEUE = "queue"
    PERSON = "person"
    JOB = "job"


WAITS = frozenset({SpanKind.QUEUE, SpanKind.PERSON, SpanKind.JOB})
WITH_OTHERS = frozenset({SpanKind.AGENT, SpanKind.NODE})
"""Spans with the spans of other kinds in them, waits included."""


@dataclass(frozen=True)
class Span:
    """An interval of an invocation. Times are in seconds since the epoch.

    Attributes:
        name: the agent, the model, or the function.
        end: None while the span lasts.
        seq: the event at the end of the span, or at the beginning of an open span; None for the wait in the queue.
        depth: levels of the tree above the span.
        model: model for the price of the usage.
        requested: model that was asked for; empty without a record.
        call_id: id of the function call behind a tool's span; empty for other spans.
        usage: tokens of a model call, or of the agents behind a tool call.
        is_estimated: True without a recorded start; the start is the time of the event before.
        first_word: seconds from the start to the first word of a model's answer.
        failed_attempts: failed model calls before the answer.
        skill: name of the skill that a tool call read or used.
        child: for a model call of an agent run as a tool, its place in the record of the event; None for other spans.
    """

    kind: SpanKind
    name: str
    start: float
    end: float | None
    seq: int | None = None
    depth: int = 0
    agent: str = ""
    model: str = ""
    is_estimated: bool = False
    usage: Usage = field(default_factory=Usage)
    first_word: float | None = None
    failed_attempts: int = 0
    error: str = ""
    skill: str = ""
    child: int | None = None
    requested: str = ""
    call_id: str = ""

    @property
    def seconds(self) -> float | None:
        """Duration; None while the span lasts."""
        return None if self.end is None else max(0.0, self.end - self.start)


def derive_spans(
    entries: Sequence[TraceEntry],
    *,
    queued_at: float | None = None,
    started_at: float | None = None,
    answers: Iterable[TraceEntry] = (),
    jobs: Container[str] = (),
) -> list[Span]:
    """Return the spans of an invocation in the order of a waterfall: each agent call is followed by the spans in it.

    Args:
        entries: the invocation's events, oldest first.
        queued_at: time of the message.
        started_at: time of the claim by a process.
        answers: messages of other invocations with answers to calls of this invocation.
        jobs: ids of the calls with a job.
    """
    spans: list[Span] = []
    if queued_at is not None and started_at is not None:
        spans.append(Span(SpanKind.QUEUE, "", queued_at, started_at))
    for agent in _Walk(entries, started_at, [*entries, *answers], jobs).agent_calls():
        spans.append(agent.span)
        for span in agent.children:
            spans.append(replace(span, depth=agent.span.depth + 1 + span.depth))
    return spans


def with_branches_in_place(spans: Iterable[Span]) -> list[Span]:
    """Return the spans with each parallel branch where it begins, between the spans of the agent that waits for it.

    `derive_spans` lists the spans of an agent together, so branches of a workflow come after all of its nodes.
    """
    ordered: list[Span] = []
    branch: list[Span] = []
    for span in spans:
        if span.kind is SpanKind.AGENT:
            _insert(branch, ordered)
            branch = []
        branch.append(span)
    _insert(branch, ordered)
    return ordered


def _insert(branch: Sequence[Span], ordered: list[Span]) -> None:
    """Insert an agent's spans before the later spans of agents above it, but after those of its siblings."""
    place = len(ordered)
    if branch and branch[0].depth:
        for span in reversed(ordered):
            if span.depth > branch[0].depth or span.start <= branch[0].start:
                break
            place -= 1
    ordered[place:place] = branch


def waiting_calls(entries: Iterable[TraceEntry]) -> frozenset[str]:
    """Return the ids of the calls answered later than their step, by a person or a job."""
    return frozenset(call_id for entry in entries for call_id in entry.pending)


@dataclass
class _AgentCall:
    """An agent's uninterrupted series of events on one branch, with the spans in it."""

    span: Span
    children: list[Span] = field(default_factory=list)


class _Walk:
    """A walk through the entries of an invocation.

    Args:
        started_at: time of the claim, if known.
        with_answers: the entries, and later entries with answers to their calls.
    """

    def __init__(
        self,
        entries: Sequence[TraceEntry],
        started_at: float | None,
        with_answers: Sequence[TraceEntry],
        jobs: Container[str],
    ) -> None:
        self._entries = entries
        self._jobs = jobs
        self._messages = [entry for entry in with_answers if entry.author == "user"]
        self._answered = {call_id for entry in entries for call_id in entry.answers}
        # Time of the last entry by branch: parallel agents have branches of their own, and their spans overlap.
        self._last: dict[str, float] = {} if started_at is None else {"": started_at}
        self._calls: dict[str, tuple[CallEntry, TraceEntry]] = {}
        self._node_starts: dict[str, float] = {}

    def agent_calls(self) -> list[_AgentCall]:
        """Return the agent calls, by their start."""
        current: dict[str, _AgentCall] = {}
        found: list[_AgentCall] = []
        for entry in self._entries:
            start = self._start_of(entry)
            self._last[entry.branch] = entry.at
            if entry.author == "user":
                continue
            agent = current.get(entry.branch)
            if agent is None or agent.span.name != entry.author:
                depth = entry.branch.count(".") + bool(entry.branch)
                span = Span(SpanKind.AGENT, entry.author, start, entry.at, entry.seq, depth, entry.author)
                agent = current[entry.branch] = _AgentCall(span)
                found.append(agent)
            agent.children += self._spans_of(entry, start)
            agent.span = replace(agent.span, end=entry.at, error=entry.error or agent.span.error)
        return found

    def _start_of(self, entry: TraceEntry) -> float:
        """Return the time of the entry before this entry, on its branch or below, else on the nearest branch above.

        Without such an entry, return the time of the entry itself.
        """
        branch = entry.branch
        while branch and branch not in self._last:
            branch = branch.rpartition(".")[0]
        times = [self._last.get(branch, entry.at)]
        if branch == entry.branch:
            # An agent waits for the agents below it, so their last entry may be the one it continues from.
            prefix = f"{branch}." if branch else ""
            times += [at for name, at in self._last.items() if name.startswith(prefix)]
        return max(times)

    def _spans_of(self, entry: TraceEntry, start: float) -> Iterator[Span]:
        """Yield the model call and the tool calls that end with the entry, and the waits that begin with it."""
        if entry.node:
            yield from self._node_span(entry, start)
        if entry.is_model_response:
            yield _model_span(entry, start)
        for call_id in sorted(entry.answers):
            yield self._tool_span(entry, call_id)
            yield from (_child_span(entry, call) for call in entry.child_calls if call.call_id == call_id)
        for call in entry.calls:
            self._calls[call.id] = call, entry
            if call.id in entry.pending and (wait := self._wait_span(entry, call)):
                yield wait

    def _node_span(self, entry: TraceEntry, start: float) -> Iterator[Span]:
        """Yield the span of a node whose run ends, successfully or not, with the entry."""
        path = entry.node
        while path:
            self._node_starts.setdefault(path, start)
            path = path.rpartition("/")[0]
        if entry.ends_node or entry.error:
            name = entry.node.partition("/")[2] or entry.node
            start = self._node_starts[entry.node]
            yield Span(SpanKind.NODE, name, start, entry.at, entry.seq, agent=entry.author, error=entry.error)

    def _tool_span(self, entry: TraceEntry, call_id: str) -> Span:
        """Return the span of a tool call. A call confirmed by a person begins with the confirmation."""
        call, asked = self._calls.get(call_id, (CallEntry(call_id, call_id), self._entries[0]))
        messages = [message.at for message in self._messages if asked.seq < message.seq < entry.seq]
        start = max([asked.at, *messages])
        seconds = entry.call_seconds.get(call_id)
        end = entry.at if seconds is None else min(entry.at, start + seconds)
        # One event answers all calls of a step and has the usage of all: only the first span shows the usage.
        usage = entry.usage if call_id == min(entry.answers) else Usage()
        return Span(
            SpanKind.TOOL,
            call.name,
            start,
            end,
            entry.seq,
            agent=entry.author,
            model=entry.model,
            usage=usage,
            call_id=call_id,
            skill=entry.skills.get(call_id, ""),
        )

    def _wait_span(self, entry: TraceEntry, call: CallEntry) -> Span | None:
        """Return the wait for an answer from outside; None for a call answered immediately by its tool."""
        answer = None
        for message in self._messages:
            if message.seq > entry.seq and call.id in message.answers:
                answer = message
                break
        is_job = call.id in self._jobs
        if answer is None and call.id in self._answered and not is_job:
            return None
        kind = SpanKind.JOB if is_job else SpanKind.PERSON
        name = call.about or call.name
        if answer is None:
            return Span(kind, name, entry.at, None, entry.seq, agent=entry.author)
        return Span(kind, name, entry.at, answer.at, answer.seq, agent=entry.author)


def _child_span(entry: TraceEntry, call: ChildCall) -> Span:
    """Return the model call of an agent run as a tool, below the span of the tool."""
    return Span(
        SpanKind.MODEL,
        call.model,
        call.at,
        entry.at if call.end is None else call.end,
        entry.seq,
        depth=call.levels,
        agent=call.agent,
        model=call.model,
        usage=call.usage,
        first_word=call.first_word,
        failed_attempts=call.failed_attempts,
        error=call.error,
        child=call.number,
    )


def _model_span(entry: TraceEntry, start: float) -> Span:
    span = Span(
        SpanKind.MODEL,
        entry.model,
        start,
        entry.at,
        entry.seq,
        agent=entry.author,
        model=entry.model,
        is_estimated=True,
        usage=entry.usage,
        error=entry.error,
    )
    recorded = entry.recorded
    if recorded is None:
        return span
    return replace(
        span,
        name=entry.model or recorded.model,
        start=recorded.at,
        model=entry.model or recorded.model,
        requested=recorded.model,
        is_estimated=False,
        first_word=recorded.first_word,
        failed_attempts=recorded.failed_attempts,
    )
