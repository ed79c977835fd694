"""What was said, as attributes of spans: messages, answers, arguments and results, masked. For `otlp_content` only."""

import json
from typing import Any
from uuid import UUID

from runtime.events.event import Event
from sessions_app.base.codec import event_to_show
from sessions_app.history.invocation_events import events_of
from sessions_app.history.telemetry.span_attributes import Attributes
from sessions_app.history.traces.entries import MAX_ENTRIES
from sessions_app.history.traces.spans import Span, SpanKind
from sessions_app.secrets.masking import mask, mask_text, masking, shortened

MAX_CHARACTERS = 20_000
"""Maximum characters of one input or output."""
INPUT = "input"
OUTPUT = "output"


class SpanContents:
    """The inputs and outputs of an invocation's spans."""

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

    def _of_model(self, span: Span, event: Event) -> Attributes:
        # What is new in the request: the page of the trace has the whole.
        values = _message(OUTPUT, "assistant", _words_of(event))
        if before := self._before.get(span.seq or 0):
            values |= _message(INPUT, "user", _words_of(before))
        return values

    def _of_tool(self, span: Span, event: Event) -> Attributes:
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


def _words_of(event: Event) -> str:
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
