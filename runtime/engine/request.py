"""Construction of the `LlmRequest` of a step (contract A8, Q13).

The request starts with the contents of the log. Everything else is added in a fixed order: files, input context,
instructions, code executor, planner, output schema, tools, and at last the parts that a static instruction moves into
the contents. `BuiltRequest.derived` keeps the contents of the log, so a record of the request only stores the rest.
"""

from typing import Any, NamedTuple

from runtime import types
from runtime._pydantic_models import construct
from runtime.artifacts.referenced_artifacts import load_references
from runtime.context import Context, InvocationContext, ReadonlyContext, session_args
from runtime.engine.contents import build_contents
from runtime.engine.instructions import render_instructions
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.engine.tools import resolve_sources
from runtime.models.base_llm import BaseLlm
from runtime.models.llm_request import LlmRequest
from runtime.run_config import RunConfig
from runtime.tools.base_tool import BaseTool
from runtime.tools.set_model_response_tool import SetModelResponseTool

AGENT_LABEL = "adk_agent_name"


class BuiltRequest(NamedTuple):
    """A request and the source of its contents.

    Attributes:
        derived: the contents of the log with their files, before anything was added.
        last_seq: `seq` of the last event in the contents.
    """

    request: LlmRequest
    derived: list[types.Content]
    last_seq: int


async def build_request(agent: LlmAgentProtocol, ctx: InvocationContext, model: BaseLlm) -> BuiltRequest:
    """Return a new request with configuration, instructions, contents and tools.

    `process_llm_request` of each tool and toolset may change the request, in the order of `agent.tools`. After this
    function only the `before_model` hooks of plugins and of the agent change it.
    """
    sources = await resolve_sources(agent, ctx)
    # Before `build_contents`, which reads the events at the time of the call: a parallel agent may append more.
    last_seq = ctx.session.last_seq or len(ctx.session.events)
    contents, with_files = await build_contents(agent, ctx)
    position = _position_of_input_context(contents, ctx)  # Before files are loaded: they change the message.
    loaded = await load_references(ctx.artifact_service, session_args(ctx.session), contents, with_files)
    request = construct(
        LlmRequest,
        model=model.model,
        contents=[*loaded[:position], *_input_context(ctx.run_config), *loaded[position:]],
        config=_generation_config(agent, ctx.run_config),
        cache_config=ctx.context_cache_config,
    )
    instructions = await render_instructions(agent, ctx)
    request.append_instructions(instructions.system)
    if agent.code_executor:
        agent.code_executor.process_llm_request(request)
    if agent.planner:
        planning_instruction = agent.planner.build_planning_instruction(ReadonlyContext(ctx), request)
        if planning_instruction:
            request.append_instructions([planning_instruction])
    has_tools = any(isinstance(source, BaseTool) for source in sources)
    for source in [*sources, *_require_output_schema(agent, model, request, has_tools=has_tools)]:
        await source.process_llm_request(tool_context=Context(ctx), llm_request=request)
    request.contents = instructions.insert_into(request.contents)
    return BuiltRequest(request, loaded, last_seq)


def callable_tools(request: LlmRequest) -> dict[str, BaseTool]:
    """Return the tools declared in the request, by their names in the model's calls."""
    return {name: tool for name, tool in request.tools_dict.items() if isinstance(tool, BaseTool)}


def _require_output_schema(
    agent: LlmAgentProtocol, model: BaseLlm, request: LlmRequest, *, has_tools: bool
) -> list[BaseTool]:
    """Put the output schema into the request; return a tool for it if the model cannot combine a schema with tools."""
    schema = agent.canonical_output_schema
    # The result of a task is the arguments of `finish_task`.
    if schema is None or agent.mode == "task":
        return []
    if has_tools and not model.capabilities.schema_with_tools:
        return [SetModelResponseTool(schema)]
    request.set_output_schema(schema.requested)
    return []


def _generation_config(agent: LlmAgentProtocol, run_config: RunConfig) -> types.GenerateContentConfig:
    given = agent.generate_content_config
    config = given.model_copy(deep=True) if given else construct(types.GenerateContentConfig)
    config.labels = {**(config.labels or {}), **(run_config.labels or {}), AGENT_LABEL: agent.name}
    if run_config.http_options:
        config.http_options = _merge_options(config.http_options, run_config.http_options)
    return config


def _merge_options(own: types.HttpOptions | None, given: types.HttpOptions) -> types.HttpOptions:
    """Return the agent's options, overridden by the options of the run config."""
    if own is None:
        return given.model_copy(update={"headers": dict(given.headers or {})})
    update: dict[str, Any] = {"headers": {**(own.headers or {}), **(given.headers or {})}}
    # Not the base URL: the run config does not change the address that the agent's author chose.
    for name in ("timeout", "retry_options", "extra_body"):
        value = getattr(given, name)
        if value is not None:
            update[name] = value
    return own.model_copy(update=update)


def _input_context(run_config: RunConfig) -> list[types.Content]:
    return [content.model_copy(deep=True) for content in run_config.model_input_context or ()]


def _position_of_input_context(contents: list[types.Content], ctx: InvocationContext) -> int:
    """Return the position of the user's message; 0 without a message or without an input context."""
    if ctx.run_config.model_input_context:
        for position in reversed(range(len(contents))):
            if contents[position] == ctx.user_content:
                return position
    return 0
