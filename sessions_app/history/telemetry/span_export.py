"""Export of spans through OpenTelemetry, by its conventions for generative AI. Off unless `otlp_endpoint` is set.

The trace in the admin shows the same spans. They are derived from the log at the end of an invocation, so an export
costs a run nothing. Without `otlp_content` a collector learns no words of the conversation.
"""

import json
import logging
from contextvars import ContextVar
from functools import lru_cache
from typing import Any
from uuid import UUID

from runtime.errors import how_to_install
from runtime.events.event import Event as RuntimeEvent
from sessions_app.base.codec import event_to_show
from sessions_app.conf import conf
from sessions_app.history.invocation_events import events_of
from sessions_app.history.telemetry.span_attributes import (
    CHAIN,
    INFERENCE_KIND,
    OPERATIONS,
    Attributes,
    attributes_of,
)
from sessions_app.history.telemetry.trace_contexts import InvocationTrace
from sessions_app.history.traces.entries import MAX_ENTRIES, entries_of
from sessions_app.history.traces.spans import WAITS, Span, SpanKind, derive_spans
from sessions_app.process.threads import in_thread
from sessions_app.secrets.masking import mask, mask_text, masking, shortened

try:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
except ImportError:  # an extra
    IS_AVAILABLE = False
else:
    IS_AVAILABLE = True

    class _RootIds(RandomIdGenerator):
        """Gives the span of an invocation the ids that requests to other systems have named, the others any."""

        def generate_trace_id(self) -> int:
            ids = _root_ids.get()
            return ids.trace_id if ids else super().generate_trace_id()

        def generate_span_id(self) -> int:
            ids = _root_ids.get()
            if ids is None:
                return super().generate_span_id()
            _root_ids.set(None)
            return ids.span_id


logger = logging.getLogger(__name__)
_root_ids: ContextVar[InvocationTrace | None] = ContextVar("root_ids", default=None)
"""Ids for the next span; None for random ids."""
MISSING = f"otlp_endpoint needs the OpenTelemetry packages: {how_to_install('telemetry')}"
MAX_CHARACTERS = 20_000
"""Maximum characters of one input or output."""
INPUT = "input"
OUTPUT = "output"


class SpanContents:
    """Contents, masked, as attributes of an invocation's spans: messages, answers, arguments and results."""

    def __init__(self, session_id: UUID, invocation_id: str) -> None:
        rows = events_of(session_id, [invocation_id]).order_by("seq")[:MAX_ENTRIES]
        self._events = {seq: event_to_show(body) for seq, body in rows.values_list("seq", "body")}
        self._before = dict(zip(list(self._events)[1:], self._events.values(), strict=False))
        self._arguments: dict[str | None, Any] = {}
        for event in self._events.values():
            for call in event.get_function_calls():
                self._arguments[call.id] = call.args

    def of_root(self) -> Attributes:
        """Return the user's message and the last answer."""
        values: Attributes = {}
        for event in self._events.values():
            if event.author == "user":
                values.setdefault("input.value", _words_of(event))
            elif event.text():
                values["output.value"] = _words_of(event)
        return values

    def of(self, span: Span) -> Attributes:
        """Return the input and output of a model or a tool; nothing for other spans and for agents run as tools."""
        event = self._events.get(span.seq or 0)
        if event is None or span.child is not None:
            return {}
        if span.kind is SpanKind.MODEL:
            return self._of_model(span, event)
        if span.kind is SpanKind.TOOL:
            return self._of_tool(span, event)
        return {}

    def _of_model(self, span: Span, event: RuntimeEvent) -> Attributes:
        # What is new in the request: the page of the trace has the whole.
        values = _message(OUTPUT, "assistant", _words_of(event))
        if before := self._before.get(span.seq or 0):
            values |= _message(INPUT, "user", _words_of(before))
        return values

    def _of_tool(self, span: Span, event: RuntimeEvent) -> Attributes:
        values: Attributes = {}
        if span.call_id in self._arguments:
            arguments = _json(self._arguments[span.call_id])
            values |= {"input.value": arguments, "gen_ai.tool.call.arguments": arguments}
        for answer in event.get_function_responses():
            if answer.id == span.call_id:
                result = _json(answer.response)
                values |= {"output.value": result, "gen_ai.tool.call.result": result}
        return values


def _message(side: str, role: str, text: str) -> Attributes:
    message = {"role": role, "parts": [{"type": "text", "content": text}]}
    return {
        f"{side}.value": text,
        f"llm.{side}_messages.0.message.role": role,
        f"llm.{side}_messages.0.message.content": text,
        f"gen_ai.{side}.messages": json.dumps([message], ensure_ascii=False),
    }


def _words_of(event: RuntimeEvent) -> str:
    """Return the event's text, else its calls or their results as JSON."""
    if text := event.text():
        with masking():
            return mask_text(shortened(text, MAX_CHARACTERS))
    calls = [{"name": call.name, "arguments": call.args} for call in event.get_function_calls()]
    results = [{"name": answer.name, "result": answer.response} for answer in event.get_function_responses()]
    return _json(calls + results)


def _json(value: object) -> str:
    with masking():
        text = json.dumps(mask(value), ensure_ascii=False, default=str)
    return shortened(text, MAX_CHARACTERS)


async def export_spans(session_id: UUID, invocation_id: str, since: float, ids: InvocationTrace) -> None:
    """Export the ended spans of an invocation. A failure is only logged.

    Args:
        since: earliest end of exported spans, in seconds since 1970. Earlier attempts have exported the others.
        ids: ids of the trace, and of the span of the invocation.
    """
    try:
        await in_thread(_export, session_id, invocation_id, since, ids)
    except Exception:  # The answer is complete, and the log has the spans.
        logger.exception(
            "The spans of invocation %s were not exported",
            invocation_id,
            extra={"invocation_id": invocation_id},
        )


def emit(
    tracer: Any,
    spans: list[Span],
    session_id: UUID,
    invocation_id: str,
    contents: SpanContents | None,
    parent: Any,
) -> None:
    """Give the spans to an OpenTelemetry tracer, below a span for the invocation.

    The spans of models, tools and waits are below the span of their agent.

    Args:
        contents: inputs and outputs to send; None sends none.
        parent: context of the program that asked for the invocation; None without one.
    """
    shown = [span for span in spans if span.kind in OPERATIONS or span.kind in WAITS]
    if not shown:
        return
    common: Attributes = {
        "gen_ai.conversation.id": str(session_id),
        "session.id": str(session_id),
        "adk.invocation_id": invocation_id,
    }
    of_root = {**common, INFERENCE_KIND: CHAIN}
    if contents:
        of_root |= contents.of_root()
    begin = min(span.start for span in shown)
    root = tracer.start_span("invocation", context=parent, attributes=of_root, start_time=_ns(begin))
    below_root = trace.set_span_in_context(root)
    # An agent's span ends after its children: they come after it in the list and need its context.
    agent = None
    agent_end = 0.0
    context = below_root
    last_end = begin
    for span in shown:
        is_agent = span.kind is SpanKind.AGENT
        if is_agent:
            if agent is not None:
                agent.end(_ns(agent_end))
            context = below_root
        attributes = {**common, **attributes_of(span)}
        if contents:
            attributes |= contents.of(span)
        made = _start(tracer, span, context, attributes)
        end = span.start if span.end is None else span.end
        last_end = max(last_end, end)
        if is_agent:
            agent = made
            agent_end = end
            context = trace.set_span_in_context(agent)
        else:
            made.end(_ns(end))
    if agent is not None:
        agent.end(_ns(agent_end))
    root.end(_ns(last_end))


def _start(tracer: Any, span: Span, context: Any, attributes: Attributes) -> Any:
    kind = trace.SpanKind.INTERNAL
    if span.kind is SpanKind.MODEL:
        kind = trace.SpanKind.CLIENT
    started = tracer.start_span(
        _name_of(span), context=context, kind=kind, attributes=attributes, start_time=_ns(span.start)
    )
    if span.error:
        started.set_status(trace.StatusCode.ERROR)
    return started


def _export(session_id: UUID, invocation_id: str, since: float, ids: InvocationTrace) -> None:
    tracer = _tracer(conf().otlp_endpoint)
    if tracer is None:
        return
    entries = entries_of(session_id, invocation_id)[:MAX_ENTRIES]
    spans = [span for span in derive_spans(entries) if span.end is not None and span.end >= since]
    contents = SpanContents(session_id, invocation_id) if conf().otlp_content else None
    token = _root_ids.set(ids)
    try:
        emit(tracer, spans, session_id, invocation_id, contents, _parent_of(ids))
    finally:
        _root_ids.reset(token)


def _parent_of(ids: InvocationTrace) -> Any:
    """Return the context of the program's span, for the span of the invocation; None without one."""
    if not ids.parent_id:
        return None
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    span = trace.SpanContext(ids.trace_id, ids.parent_id, is_remote=True, trace_flags=flags)
    return trace.set_span_in_context(trace.NonRecordingSpan(span))


def _tracer(endpoint: str) -> Any:
    if not IS_AVAILABLE:
        logger.error(MISSING)
        return None
    return _provider(endpoint).get_tracer("sessions_app")


# A provider has a thread for its queue: one for the process.
@lru_cache(maxsize=1)
def _provider(endpoint: str) -> Any:
    resource = Resource.create({"service.name": conf().site_name})
    provider = TracerProvider(resource=resource, id_generator=_RootIds())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return provider


def _name_of(span: Span) -> str:
    return f"{OPERATIONS.get(span.kind, f'wait for {span.kind}')} {span.name}".strip()


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)
