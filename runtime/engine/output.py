"""Final responses that follow an agent's `output_schema` (contract A4).

Models that accept a schema together with tools answer with JSON text. Other models call `set_model_response`, and the
engine turns its arguments into a JSON text. Either way the agent call ends with one final response that follows the
schema. It is validated where its value is used: under `output_key`, and as the result of an `AgentTool`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import ValidationError

from runtime import types
from runtime.context import InvocationContext
from runtime.engine.build_events import agent_event
from runtime.engine.function_calls import Batch
from runtime.events.event import Event
from runtime.tools.base_tool import BaseTool
from runtime.tools.output_schema import OutputSchema
from runtime.tools.set_model_response_tool import SetModelResponseTool


def record_output(event: Event, schema: OutputSchema | None, output_key: str | None) -> None:
    """Write a final response under the key of its state delta; with a schema, validate it before.

    Thoughts are left out. Events that are errors, not final or without a text are not changed. An empty text is
    written as it is, but an empty one that should follow a schema is not.

    Raises:
        pydantic.ValidationError: the response does not follow the schema.
    """
    if output_key is None or event.error_code or not event.is_final_response() or not _has_text(event):
        return
    text = event.text()
    value: object = text
    if schema is not None:
        if event.get_function_calls() or not text:
            return
        try:
            value = schema.read_json(text)
        except ValidationError as error:
            error.add_note(f"The answer of agent {event.author!r} does not follow its output_schema.")
            raise
    event.actions.state_delta[output_key] = value


def structured_answer(ctx: InvocationContext, batch: Batch, tools: Mapping[str, BaseTool]) -> Event | None:
    """Return a final response with the accepted arguments of `set_model_response`, or None without such a call."""
    for result in batch.results:
        tool = tools.get(result.call.name or "")
        if isinstance(tool, SetModelResponseTool) and result.response and "result" in result.response:
            text = json.dumps(result.response["result"], ensure_ascii=False)
            return agent_event(ctx, types.Content(role="model", parts=[types.Part(text=text)]))
    return None


def _has_text(event: Event) -> bool:
    parts = (event.content.parts or []) if event.content else []
    return any(part.text is not None and not part.thought for part in parts)
