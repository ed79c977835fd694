"""AgentTool: an agent as a tool (contract T6, Q12).

The agent runs in a new in-memory session that starts with the caller's state. Its events are not stored, so nobody can
answer its questions later: a call that waits for an answer is an error response to the calling model.
"""

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, TypeAdapter, ValidationError

from runtime import types
from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.context import AgentProtocol, Context
from runtime.context import Context as ToolContext  # noqa: F401  # programs import it from here
from runtime.events.calls import REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, parts_of, unanswered_calls
from runtime.events.event import Event
from runtime.events.tool_confirmation import call_to_confirm
from runtime.models.llm_response import text_in
from runtime.tools.arguments import bad_values, describe_errors
from runtime.tools.base_tool import BaseTool
from runtime.tools.output_schema import OutputSchema
from runtime.tools.schema import adapter_of, schema_of
from runtime.tools.sources import add_sources
from runtime.tools.tool_result import file_description
from runtime.valid_text import json_text

_REQUEST_SCHEMA = types.Schema(
    type=types.Type.OBJECT,
    properties={"request": types.Schema(type=types.Type.STRING)},
    required=["request"],
)
_FILES = "files"
_REQUEST_ADAPTER = TypeAdapter(str)


@runtime_checkable
class _HasSchemas(Protocol):
    """Agent with input and output schemas. Workflow agents such as `SequentialAgent` have none."""

    input_schema: type[BaseModel] | None
    output_schema: Any | None


class AgentTool(BaseTool):
    """Runs an agent in a new session and returns its answer.

    State changes and artifacts reach the caller's session; events do not. The event with the answer has the usage of
    all model calls of the agent. The agent's `input_schema` defines the parameters; without a schema, there is a
    `request` text. The result is an object of the agent's `output_schema`, or else text, with the files of the answer,
    which the model sees as those of other tools.

    Args:
        skip_summarization: True to use the agent's answer as the final response, without a further model call.
        include_plugins: False to run the agent without the plugins of the app.
        propagate_grounding_metadata: True to give the next response of the calling model the sources of the agent's
            last answer with sources, such as the pages of a web search, and of the last one of each of its sub-agents.
    """

    can_run_in_job = False

    def __init__(
        self,
        agent: AgentProtocol,
        skip_summarization: bool = False,
        *,
        include_plugins: bool = True,
        propagate_grounding_metadata: bool = False,
    ) -> None:
        super().__init__(name=agent.name, description=agent.description)
        self.agent = agent
        self.skip_summarization = skip_summarization
        self.include_plugins = include_plugins
        self.propagate_grounding_metadata = propagate_grounding_metadata
        owner = f"Agent {agent.name!r}, used as a tool,"
        self._input: TypeAdapter[Any] | None = None
        self._output: OutputSchema | None = None
        self._parameters = _REQUEST_SCHEMA
        if not isinstance(agent, _HasSchemas):
            return
        if agent.input_schema is not None:
            self._input = adapter_of(agent.input_schema, owner)
            self._parameters = schema_of(self._input, owner)
        if agent.output_schema is not None:
            self._output = OutputSchema(agent.output_schema, owner)

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters=self._parameters
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Return the agent's last answer; `{'error': …}` if the arguments are wrong or the agent did not finish.

        Raises:
            ValidationError: the answer does not follow the agent's `output_schema`.
        """
        try:
            content = types.Content(role="user", parts=[types.Part(text=self._message(args))])
        except ValidationError as error:
            return self._bad_arguments(error)
        if self.skip_summarization:
            tool_context.actions.skip_summarization = True
        events = await self._run(content, tool_context)
        unanswered = unanswered_calls(events)
        if unanswered:
            return {"error": self._unfinished_message(unanswered)}
        return self._result_of(events)

    def display_text(self, result: Any) -> str | None:
        """Return the agent's answer. It is meant for the person if no summarization follows."""
        if self._output is None and isinstance(result, dict) and _FILES in result:
            result = result.get("result")  # The page shows the files themselves.
        if result in (None, "") or (isinstance(result, dict) and "error" in result):
            return None
        if isinstance(result, str):
            return result
        return json_text(result)

    def _message(self, args: dict[str, Any]) -> str:
        if self._input is None:
            return _REQUEST_ADAPTER.validate_python(args.get("request"))
        value = self._input.validate_python(args)
        return self._input.dump_json(value, exclude_none=True).decode()

    def _bad_arguments(self, error: ValidationError) -> dict[str, Any]:
        problems = describe_errors(error) if self._input else describe_errors(error, "request")
        return {"error": bad_values(problems).message}

    def _result_of(self, events: Sequence[Event]) -> Any:
        """Return the last answer in the agent's events as the result of the call."""
        last = next((event for event in reversed(events) if event.content or event.error_code), None)
        if last is None:
            return ""
        # A broken answer is still useful as text, but not as an object of a schema.
        if last.error_code and (self._output or not last.text().strip()):
            return {"error": f"{self.name} failed: {last.error_message or last.error_code}"}
        return self._result(last)

    def _result(self, answer: Event) -> Any:
        if self._output:
            return self._output.read_json(answer.text())
        text = text_in(answer.content, "\n")
        references = map(ArtifactReference.of_part, parts_of(answer))
        files = [file_description(reference) for reference in references if reference]
        if not files:
            return text
        return {"result": text, _FILES: files}

    def _unfinished_message(self, unanswered: list[types.FunctionCall]) -> str:
        awaited = " and ".join(_describe_awaited(call) for call in unanswered)
        return (
            f"{self.name} did not finish: it waits for {awaited}, which cannot reach an agent that runs as a tool. "
            "Do not call it again, and say so. To be answered it has to be a sub-agent."
        )

    async def _run(self, content: types.Content, tool_context: Context) -> list[Event]:
        """Run the agent, forward its state and artifact changes, and return its committed events."""
        committed: list[Event] = []
        # The last ones of an agent contain the earlier ones that its tools have found.
        sources_by_agent: dict[str, types.GroundingMetadata] = {}
        state = tool_context.state.to_dict()
        run = tool_context.run_agent(self.agent, content, state, include_plugins=self.include_plugins)
        async with aclosing(run) as events:
            async for event in events:
                if event.partial:
                    continue
                # After each event and not at the end: other calls of the step see the changes (contract Q1).
                tool_context.state.update(event.actions.state_delta)
                tool_context.actions.artifact_delta.update(event.actions.artifact_delta)
                committed.append(event)
                if event.grounding_metadata:
                    sources_by_agent[event.author] = event.grounding_metadata
                if event.usage_metadata:
                    tool_context.child_responses.append(event)
        if self.propagate_grounding_metadata:
            for sources in sources_by_agent.values():
                add_sources(tool_context, sources)
        return committed


def _describe_awaited(call: types.FunctionCall) -> str:
    """Return a phrase for the answer to an unanswered call."""
    if call.name == REQUEST_CONFIRMATION:
        return f"a person's confirmation of {call_to_confirm(call.args or {}).get('name')!r}"
    if call.name == REQUEST_CREDENTIAL:
        return "a credential of a person"
    return f"the answer to its call of {call.name!r}"
