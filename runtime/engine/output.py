"""A final response as the object that `output_schema` describes (spec A4, Q18).

Models that take a schema beside tools answer with JSON text; the others call `set_model_response`, and the engine
says its arguments as JSON text. Either way the turn ends with one final response, whose text follows the schema. A
text that does not, whoever wrote it, stays as it is and is marked as an error with the code `INVALID_OUTPUT`: the
turn is over, nothing is written under `output_key`, and the reader learns why.
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
from runtime.tools.arguments import describe_errors
from runtime.tools.base_tool import BaseTool
from runtime.tools.output_schema import OutputSchema
from runtime.tools.set_model_response_tool import SetModelResponseTool

INVALID_OUTPUT = "INVALID_OUTPUT"


def note_output(event: Event, schema: OutputSchema | None, output_key: str | None) -> None:
    """Check a final response by the schema, and write it into its state delta under the key.

    Thoughts are left out; other events, and those of errors, stay as they are.
    """
    if event.error_code or not event.is_final_response() or not (text := event.text()):
        return
    value: object = text
    if schema is not None:
        if event.get_function_calls():
            return
        try:
            value = schema.read_json(text)
        except ValidationError as error:
            event.error_code, event.error_message = INVALID_OUTPUT, _why_invalid(event, error)
            return
    if output_key:
        event.actions.state_delta[output_key] = value


def structured_answer(ctx: InvocationContext, batch: Batch, tools: Mapping[str, BaseTool]) -> Event | None:
    """The final response that a call of `set_model_response` gave; None when there is none, or a refused one."""
    for result in batch.results:
        tool = tools.get(result.call.name or "")
        if isinstance(tool, SetModelResponseTool) and result.response and "result" in result.response:
            text = json.dumps(result.response["result"], ensure_ascii=False)
            return agent_event(ctx, types.Content(role="model", parts=[types.Part(text=text)]))
    return None


def _why_invalid(event: Event, error: ValidationError) -> str:
    problems = " ".join(describe_errors(error))
    return f"The answer of agent {event.author!r} does not follow its output_schema. {problems}"
