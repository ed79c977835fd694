"""LlmAgent: an agent whose turns are a model's (spec A2)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from operator import is_not
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.callbacks import Callback
from runtime.code_executors.base_code_executor import BaseCodeExecutor
from runtime.context import InvocationContext
from runtime.engine.instructions import static_parts
from runtime.engine.output import note_output
from runtime.engine.step import run_llm_agent
from runtime.errors import ConfigurationError
from runtime.events.event import Event
from runtime.models.base_llm import BaseLlm
from runtime.models.llm_response import LlmResponse
from runtime.models.registry import LLMRegistry
from runtime.planners.base_planner import BasePlanner
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.function_tool import FunctionTool
from runtime.tools.output_schema import OutputSchema
from runtime.utils.instructions_utils import InstructionProvider

ModelCallback = Callback[LlmResponse]
ToolCallback = Callback[dict[str, Any]]
ToolUnion = Callable[..., Any] | BaseTool | BaseToolset


class LlmAgent(BaseAgent):
    """Configuration of a model's turns; `runtime.engine.step` draws how a turn goes.

    Attributes:
        model: a name that `LLMRegistry` knows, or a model object; empty takes the nearest ancestor's, else
            `default_model`.
        instruction: a template (spec A3) or a function of a `ReadonlyContext` that returns the text.
        global_instruction: as `instruction`, for every agent of the tree; only the root's counts.
        static_instruction: content that never changes, sent first and as it is, so that the provider can cache it;
            `instruction` then comes right before what the person said last.
        tools: functions, tools and toolsets.
        disallow_transfer_to_parent: the model may not hand back to the parent.
        disallow_transfer_to_peers: the model may not hand over to the parent's other sub-agents.
        include_contents: `none` sends this turn only, not the history (spec Q11).
        input_schema: what a call of this agent as a tool takes.
        output_schema: what the final response is, as JSON: a pydantic model, a type such as `list[Model]`, a
            `types.Schema` or a dict that is one. It goes together with tools and transfer (`engine.output`).
        output_key: the state key that the final response is written to (spec A4).
        planner: makes the model plan before it acts.
        code_executor: lets the model run code.

    Raises:
        ConfigurationError: the model's name is unknown, or the output schema is none.
    """

    default_model: ClassVar[str] = "gemini-2.5-flash"

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
    planner: BasePlanner | None = None
    code_executor: BaseCodeExecutor | None = None
    before_model_callback: ModelCallback | list[ModelCallback] | None = None
    after_model_callback: ModelCallback | list[ModelCallback] | None = None
    on_model_error_callback: ModelCallback | list[ModelCallback] | None = None
    before_tool_callback: ToolCallback | list[ToolCallback] | None = None
    after_tool_callback: ToolCallback | list[ToolCallback] | None = None
    on_tool_error_callback: ToolCallback | list[ToolCallback] | None = None

    @field_validator("model")
    @classmethod
    def _check_model(cls, model: str | BaseLlm) -> str | BaseLlm:
        if isinstance(model, str) and model:
            LLMRegistry.resolve(model)
        return model

    @field_validator("static_instruction")
    @classmethod
    def _check_static_instruction(cls, content: types.ContentUnion | None) -> types.ContentUnion | None:
        static_parts(content)
        return content

    @field_validator("generate_content_config")
    @classmethod
    def _check_config(cls, config: types.GenerateContentConfig | None) -> types.GenerateContentConfig | None:
        if config and config.tools:
            raise ValueError("Set tools on the agent, not in its generate_content_config.")
        if config and config.system_instruction:
            raise ValueError(
                "Set the agent's instruction, not the system_instruction of its generate_content_config."
            )
        if config and config.response_schema:
            raise ValueError(
                "Set the agent's output_schema, not the response_schema of its generate_content_config."
            )
        return config

    def model_post_init(self, context: Any, /) -> None:
        """Prepare what every step needs, then become the parent of the sub-agents."""
        self._read_tools()
        self._own_model = (
            LLMRegistry.new_llm(self.model) if isinstance(self.model, str) and self.model else None
        )
        self._output_schema = self._read_output_schema()
        super().model_post_init(context)

    _output_schema: OutputSchema | None
    _known_tools: list[ToolUnion]
    _tool_sources: list[BaseTool | BaseToolset]
    _own_model: BaseLlm | None

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        async with aclosing(run_llm_agent(self, ctx)) as events:
            async for event in events:
                yield event

    @property
    def offers_transfer(self) -> bool:
        """An LLM agent takes part in transfers (spec A6)."""
        return True

    @property
    def canonical_tool_sources(self) -> list[BaseTool | BaseToolset]:
        """`tools` with functions wrapped as tools."""
        known = self._known_tools
        if len(known) != len(self.tools) or any(map(is_not, known, self.tools)):
            self._read_tools()
        return self._tool_sources

    @property
    def canonical_model(self) -> BaseLlm:
        """The model to ask: the agent's own, else the nearest ancestor's, else the default (spec Q18)."""
        agent: BaseAgent | None = self
        while agent is not None:
            if isinstance(agent, LlmAgent) and agent.model:
                return agent.model if isinstance(agent.model, BaseLlm) else agent._own_model_object()
            agent = agent.parent_agent
        return LLMRegistry.new_llm(self.default_model)

    @property
    def root_global_instruction(self) -> str | InstructionProvider:
        """The global instruction of the root of the tree."""
        root = self.root_agent
        return root.global_instruction if isinstance(root, LlmAgent) else ""

    @property
    def canonical_output_schema(self) -> OutputSchema | None:
        """`output_schema` in one form; None when the agent answers in text."""
        known = self._output_schema
        if known is None or known.given is not self.output_schema:
            self._output_schema = known = self._read_output_schema()
        return known

    def note_output(self, event: Event) -> None:
        """Check a final response by `output_schema` and write it under `output_key` (spec A4)."""
        note_output(event, self.canonical_output_schema, self.output_key)

    def _read_tools(self) -> None:
        self._known_tools = list(self.tools)
        self._tool_sources = [_as_tool(tool) for tool in self._known_tools]

    def _read_output_schema(self) -> OutputSchema | None:
        return (
            None if self.output_schema is None else OutputSchema(self.output_schema, f"Agent {self.name!r}")
        )

    def _own_model_object(self) -> BaseLlm:
        if self._own_model is None or self._own_model.model != self.model:
            self._own_model = LLMRegistry.new_llm(str(self.model))
        return self._own_model


Agent = LlmAgent


def _as_tool(tool: ToolUnion) -> BaseTool | BaseToolset:
    if isinstance(tool, BaseTool | BaseToolset):
        return tool
    if not callable(tool):
        raise ConfigurationError(f"{tool!r} is no tool: give a function, a BaseTool or a BaseToolset.")
    return FunctionTool(tool)
