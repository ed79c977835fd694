"""LlmAgent: an agent that calls a model and runs its function calls (contract A2)."""

import reprlib
from collections.abc import AsyncGenerator, Callable, Iterator
from operator import is_not
from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.callbacks import Callback, callback_list
from runtime.code_executors.base_code_executor import BaseCodeExecutor
from runtime.context import Context as CallbackContext  # noqa: F401  # programs import it from here
from runtime.context import Context as ToolContext  # noqa: F401
from runtime.context import InvocationContext, ReadonlyContext
from runtime.engine.instructions import static_parts
from runtime.engine.step import run_llm_agent
from runtime.engine.tools import tools_of_sources, transfer_targets
from runtime.errors import ConfigurationError
from runtime.events.event import Event
from runtime.models.base_llm import BaseLlm
from runtime.models.llm_request import LlmRequest  # noqa: F401  # programs import it from here
from runtime.models.llm_response import LlmResponse
from runtime.models.registry import LLMRegistry, UnknownModel
from runtime.planners.base_planner import BasePlanner
from runtime.tools.agent_tool import AgentTool
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.function_tool import FunctionTool
from runtime.tools.output_schema import OutputSchema
from runtime.tools.task_tools import FinishTaskTool, TaskAgentTool
from runtime.utils.instructions_utils import InstructionProvider, given_text

ModelCallback = Callback[LlmResponse]
ToolCallback = Callback[dict[str, Any]]
BeforeModelCallback = ModelCallback | list[ModelCallback]
AfterModelCallback = BeforeModelCallback
OnModelErrorCallback = BeforeModelCallback
BeforeToolCallback = ToolCallback | list[ToolCallback]
AfterToolCallback = BeforeToolCallback
OnToolErrorCallback = BeforeToolCallback
ToolUnion = Callable[..., Any] | BaseTool | BaseToolset


class LlmAgent(BaseAgent):
    """Agent driven by a model. `runtime.engine.step` runs its steps.

    Attributes:
        model: name known to `LLMRegistry` at the first call, or a model object; empty: the nearest ancestor's model,
            else `default_model`.
        instruction: template (contract A3), or a function from a `ReadonlyContext` to the text.
        global_instruction: like `instruction`, for every agent of the tree; only the root's is used.
        static_instruction: constant content, sent first and unrendered so the provider can cache it;
            `instruction` is then sent right before the latest user message.
        tools: functions, tools and toolsets.
        disallow_transfer_to_parent: True to keep the model from transferring to the parent.
        disallow_transfer_to_peers: True to keep the model from transferring to the parent's other sub-agents.
        include_contents: `none` sends only the events since the latest message to the agent (contract Q11).
        input_schema: arguments of this agent if it is used as a tool.
        output_schema: schema of the final response, as JSON: a pydantic model, a type such as `list[Model]`, a
            `types.Schema`, its dict form or a JSON schema. Can be combined with tools and transfer (`engine.output`).
        output_key: state key for the response (contract A4).
        mode: `single_turn` and `task` make a sub-agent a tool of its parent, which runs in the same session (contract
            A11). Its answer is the result, or with `task` the arguments of `finish_task`, which the agent calls after
            it has talked to the person. `chat`, the default: the parent transfers to the agent.
        planner: makes the model plan before it acts.
        code_executor: runs code blocks of the model's answers, or makes the provider run them.

    Raises:
        ConfigurationError: a tool or the output schema is invalid.
    """

    default_model: ClassVar[str | BaseLlm] = "gemini-2.5-flash"

    model: str | BaseLlm = ""
    instruction: str | InstructionProvider = ""
    global_instruction: str | InstructionProvider = ""
    static_instruction: types.ContentUnion | None = None
    tools: list[ToolUnion] = Field(default_factory=list)
    generate_content_config: types.GenerateContentConfig | None = None
    disallow_transfer_to_parent: bool = False
    disallow_transfer_to_peers: bool = False
    include_contents: Literal["default", "none"] = "default"
    input_schema: type[Any] | None = None
    output_schema: Any | None = None
    output_key: str | None = None
    mode: Literal["chat", "single_turn", "task"] | None = None
    planner: BasePlanner | None = None
    code_executor: BaseCodeExecutor | None = None
    before_model_callback: BeforeModelCallback | None = None
    after_model_callback: AfterModelCallback | None = None
    on_model_error_callback: OnModelErrorCallback | None = None
    before_tool_callback: BeforeToolCallback | None = None
    after_tool_callback: AfterToolCallback | None = None
    on_tool_error_callback: OnToolErrorCallback | None = None
    canonical_before_model_callbacks: ClassVar[property] = callback_list("before_model_callback")
    canonical_after_model_callbacks: ClassVar[property] = callback_list("after_model_callback")
    canonical_on_model_error_callbacks: ClassVar[property] = callback_list("on_model_error_callback")
    canonical_before_tool_callbacks: ClassVar[property] = callback_list("before_tool_callback")
    canonical_after_tool_callbacks: ClassVar[property] = callback_list("after_tool_callback")
    canonical_on_tool_error_callbacks: ClassVar[property] = callback_list("on_tool_error_callback")

    @field_validator("static_instruction")
    @classmethod
    def _check_static_instruction(cls, content: types.ContentUnion | None) -> types.ContentUnion | None:
        static_parts(content)
        return content

    @field_validator("tools", mode="before")
    @classmethod
    def _check_tools(cls, tools: Any, info: ValidationInfo) -> Any:
        for tool in tools if isinstance(tools, list) else []:
            if not _is_tool(tool):
                raise ValueError(f"Agent {info.data.get('name')!r}: {_not_a_tool(tool)}")
        return tools

    @field_validator("generate_content_config")
    @classmethod
    def _check_config(cls, config: types.GenerateContentConfig | None) -> types.GenerateContentConfig | None:
        if config and config.tools:
            raise ValueError("All tools must be set via LlmAgent.tools, not in generate_content_config.")
        if config and config.system_instruction:
            raise ValueError(
                "System instruction must be set via LlmAgent.instruction, not in generate_content_config."
            )
        if config and config.response_schema:
            raise ValueError(
                "Response schema must be set via LlmAgent.output_schema, not in generate_content_config."
            )
        return config

    def model_post_init(self, context: Any, /) -> None:
        self._wrap_tools()
        self._output_schema = self._normalize_output_schema()
        super().model_post_init(context)
        self._task_tools = list(_task_tools(self))

    _output_schema: OutputSchema | None
    _wrapped_tools: list[ToolUnion]
    _tool_sources: list[BaseTool | BaseToolset]
    _task_tools: list[BaseTool]
    _own_model: BaseLlm | None = None

    def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        return run_llm_agent(self, ctx)

    @property
    def offers_transfer(self) -> bool:
        """True: LLM agents take part in transfers (contract A6)."""
        return True

    @property
    def works_for_parent(self) -> bool:
        """True if the parent's model calls the agent as a tool (contract A11)."""
        parent = self.parent_agent
        return self.mode in ("single_turn", "task") and parent is not None and parent.offers_transfer

    @property
    def always_resumes(self) -> bool:
        """True if an agent that works for this one may ask the person (contract A11)."""
        return any(child.works_for_parent for child in self.sub_agents)

    @property
    def canonical_tool_sources(self) -> list[BaseTool | BaseToolset]:
        """The `tools`, with functions wrapped as `FunctionTool`, and searches as separate agents if they ask for it."""
        # Wrapping reads signatures, so it is done once. `tools` is a plain list that an author may change, and
        # comparing by identity is cheap enough for every step.
        cached = self._wrapped_tools
        if len(cached) != len(self.tools) or any(map(is_not, cached, self.tools)):
            self._wrap_tools()
        if len(cached) > 1 or transfer_targets(self) or self._task_tools:
            return [*map(self._wrap_if_exclusive, self._tool_sources), *self._task_tools]
        return self._tool_sources

    @property
    def canonical_model(self) -> BaseLlm:
        """The agent's own model, else the nearest ancestor's, else the default (contract Q17, Q18)."""
        agent: BaseAgent | None = self
        while agent is not None:
            if isinstance(agent, LlmAgent) and agent.model:
                if isinstance(agent.model, BaseLlm):
                    return agent.model
                return agent._own_model_object()
            agent = agent.parent_agent
        default = self.default_model
        if isinstance(default, BaseLlm):
            return default
        return LLMRegistry.new_llm(default)

    @classmethod
    def set_default_model(cls, model: str | BaseLlm) -> None:
        """Set the model of agents without a model on themselves or an ancestor.

        Raises:
            ConfigurationError: the name is empty.
        """
        if not model:
            raise ConfigurationError("The default model needs a name or a model object.")
        cls.default_model = model

    async def canonical_instruction(self, ctx: ReadonlyContext) -> tuple[str, bool]:
        """Return the instruction before state values are inserted, and True if it came from a provider."""
        return await given_text(self.instruction, ctx)

    async def canonical_global_instruction(self, ctx: ReadonlyContext) -> tuple[str, bool]:
        """Return the global instruction before state values are inserted, and True if it came from a provider."""
        return await given_text(self.global_instruction, ctx)

    async def canonical_tools(self, ctx: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the agent's own tools and the tools of its toolsets."""
        return await tools_of_sources(self.canonical_tool_sources, ctx)

    @property
    def root_global_instruction(self) -> str | InstructionProvider:
        root = self.root_agent
        return root.global_instruction if isinstance(root, LlmAgent) else ""

    @property
    def canonical_output_schema(self) -> OutputSchema | None:
        """The normalized `output_schema`; None if the agent responds in text."""
        if self.output_schema is None:
            return None
        cached = self._output_schema
        if cached is None or cached.given is not self.output_schema:
            self._output_schema = cached = self._normalize_output_schema()
        return cached

    def _wrap_tools(self) -> None:
        self._wrapped_tools = list(self.tools)
        self._tool_sources = [_as_tool(tool) for tool in self._wrapped_tools]

    def _wrap_if_exclusive(self, source: BaseTool | BaseToolset) -> BaseTool | BaseToolset:
        if isinstance(source, BaseToolset) or not getattr(source, "bypass_multi_tools_limit", False):
            return source
        name = f"{source.name}_agent"
        instruction = "Answer the request by what your search finds. You have no functions to call."
        searcher = LlmAgent(name=name, model=self.canonical_model, instruction=instruction, tools=[source])
        searcher.description = source.description
        return AgentTool(searcher, propagate_grounding_metadata=True)

    def _normalize_output_schema(self) -> OutputSchema | None:
        if self.output_schema is None:
            return None
        return OutputSchema(self.output_schema, f"Agent {self.name!r}")

    def _own_model_object(self) -> BaseLlm:
        name = str(self.model)
        if self._own_model is None or self._own_model.model != name:
            if not LLMRegistry.supports(name):
                # Fails at the first model call and not here: the agent can be created and listed (contract Q17).
                return UnknownModel(model=name)  # Not kept: a class may be registered later.
            self._own_model = LLMRegistry.new_llm(name)
        return self._own_model


Agent = LlmAgent


def _task_tools(agent: LlmAgent) -> Iterator[BaseTool]:
    """Yield the tools of tasks: the sub-agents that work for the agent, and the end of its own task."""
    for child in agent.sub_agents:
        if isinstance(child, LlmAgent) and child.works_for_parent:
            yield TaskAgentTool(child, is_task=child.mode == "task")
    if agent.mode == "task":
        yield FinishTaskTool(agent.output_schema)


def _as_tool(tool: ToolUnion) -> BaseTool | BaseToolset:
    if isinstance(tool, BaseTool | BaseToolset):
        return tool
    if not _is_tool(tool):
        raise ConfigurationError(_not_a_tool(tool))
    return FunctionTool(tool)


def _is_tool(given: object) -> bool:
    return isinstance(given, BaseTool | BaseToolset) or callable(given)


def _not_a_tool(given: object) -> str:
    if isinstance(given, BaseAgent):
        return f"the agent {given.name!r} is not a tool: give AgentTool(agent), or put it into sub_agents."
    return f"{reprlib.repr(given)} is not a tool: give a function, a BaseTool or a BaseToolset."
