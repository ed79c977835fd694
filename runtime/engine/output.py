"""Outputs of agents: `output_key` and `output_schema` (contract A4), and the files in their answers (contract F5).

A model that accepts a schema together with tools answers with JSON text. Another model calls `set_model_response`, and
the engine turns the arguments into a JSON text. In both cases one final response that follows the schema ends the agent
call. The text is validated where its value is used: under `output_key`, and as the result of an `AgentTool`.
"""

import json
from collections.abc import Mapping

from pydantic import ValidationError

from runtime import types
from runtime.artifacts.named_files import name_prefix, named_file
from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.code_executors.code_blocks import trailing_code
from runtime.context import Context, InvocationContext
from runtime.engine.build_events import agent_event
from runtime.engine.function_calls import Batch
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.engine.resume.agent_progress import own_events
from runtime.events.calls import parts_of
from runtime.events.event import Event
from runtime.tools.base_tool import BaseTool
from runtime.tools.output_schema import OutputSchema
from runtime.tools.set_model_response_tool import SetModelResponseTool
from runtime.tools.task_tools import finishes_task


class Output:
    """Writes the output of an agent call into the state, under the agent's `output_key`.

    With an output schema, the output is the object of the final response. Otherwise it is the agent's text: the texts
    of events that also call a tool, then the final text. Thoughts, errors, partial events and events that end in code
    to run are left out.
    """

    def __init__(self, agent: LlmAgentProtocol, ctx: InvocationContext) -> None:
        self._agent_name = agent.name
        self._is_task = agent.mode == "task"
        self._key = agent.output_key
        self._schema = agent.canonical_output_schema if self._key else None
        self._text = _text_before_interruption(ctx) if self._key and ctx.resuming else ""

    def record(self, event: Event) -> None:
        """Write the output so far into the event's state delta if the event adds to the output.

        Raises:
            pydantic.ValidationError: a final response does not follow the schema.
        """
        if self._key is None:
            return
        if self._is_task:
            # Texts of a task agent before its end are no output.
            if finishes_task(event):
                event.actions.state_delta[self._key] = event.actions.set_model_response
            return
        if not _is_part_of_output(event) or not _has_text(event):
            return
        text = event.text()
        is_final = event.is_final_response()
        if self._schema is None and (text or is_final):
            self._text += text
            # An empty final text is written, too: the state must not keep the output of an earlier turn.
            event.actions.state_delta[self._key] = self._text if text else ""
        elif self._schema and text and is_final and not event.get_function_calls():
            event.actions.state_delta[self._key] = self._validate(self._schema, text)

    def _validate(self, schema: OutputSchema, text: str) -> object:
        try:
            return schema.read_json(text)
        except ValidationError as error:
            error.add_note(f"The answer of agent {self._agent_name!r} does not follow its output_schema.")
            raise


def structured_answer(ctx: InvocationContext, batch: Batch, tools: Mapping[str, BaseTool]) -> Event | None:
    """Return a final response with the accepted arguments of `set_model_response`; None if it was not called."""
    for result in batch.results:
        tool = tools.get(result.call.name or "")
        # A field that is set to None is an answer, too; refused arguments leave the field unset.
        if isinstance(tool, SetModelResponseTool) and "set_model_response" in result.actions.model_fields_set:
            text = json.dumps(result.actions.set_model_response, ensure_ascii=False)
            return agent_event(ctx, types.Content(role="model", parts=[types.Part(text=text)]))
    return None


def note_task_result(ctx: InvocationContext, response: Event) -> None:
    """Make the result of a finished task the output of the event, except in a workflow: the node ends with it."""
    if finishes_task(response) and (ctx.node is None or ctx.node.isolation_scope):
        response.output = response.actions.set_model_response


def _is_part_of_output(event: Event) -> bool:
    return not event.partial and not event.error_code and not trailing_code(event.content)


def _has_text(event: Event) -> bool:
    return any(part.text is not None and not part.thought for part in parts_of(event))


def _text_before_interruption(ctx: InvocationContext) -> str:
    """Return the text of the agent's events since the user's latest message, which a resume continues."""
    recent: set[int] = set()
    for event in reversed(ctx.events()):
        if event.author == "user":
            break
        recent.add(id(event))
    # By `id()`, because events are not hashable.
    continued = [event for event in own_events(ctx) if id(event) in recent]
    return "".join(event.text() for event in continued if _is_part_of_output(event))


async def save_files(ctx: InvocationContext, event: Event) -> None:
    """Save the files of an agent's event as artifacts, and replace their data by references.

    Models and remote agents send pictures, sound and documents.

    Empty files are left out, and so are drafts within the thoughts. Without an artifact service, change nothing.
    """
    parts = parts_of(event)
    if event.content is None or ctx.artifact_service is None or not any(part.inline_data for part in parts):
        return
    context = Context(ctx, event_actions=event.actions)
    prefix = name_prefix(event.author, event.id)
    kept: list[types.Part] = []
    saved = 0
    for part in parts:
        blob = part.inline_data
        if blob is None:
            kept.append(part)
        elif blob.data and not part.thought:
            saved += 1
            file = named_file(blob, f"{prefix}-{saved}")
            # Before the commit: a crash between the two leaves a version that no event names.
            version = await context.save_artifact(file.name, file.part)
            reference = ArtifactReference(file.name, version, file.mime_type).as_part()
            # Other fields stay: Gemini requires the signature of a picture in the next request.
            update = {"inline_data": None, "file_data": reference.file_data}
            kept.append(part.model_copy(update=update))
    event.content = event.content.model_copy(update={"parts": kept})
