"""LlmAgentProtocol: configuration of an LLM agent, as the engine reads it.

`LlmAgent` imports the engine to run its steps; the engine must not import it back.
"""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from runtime import types
from runtime.callbacks import Callbacks
from runtime.code_executors.base_code_executor import BaseCodeExecutor
from runtime.context import AgentProtocol
from runtime.models.base_llm import BaseLlm
from runtime.models.llm_response import LlmResponse
from runtime.planners.base_planner import BasePlanner
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.output_schema import OutputSchema
from runtime.utils.instructions_utils import InstructionProvider


class LlmAgentProtocol(AgentProtocol, Protocol):
    """Implemented by `LlmAgent`, whose docstring explains the fields."""

    output_key: str | None
    mode: Literal["chat", "single_turn", "task"] | None
    instruction: str | InstructionProvider
    static_instruction: types.ContentUnion | None
    generate_content_config: types.GenerateContentConfig | None
    include_contents: Literal["default", "none"]
    disallow_transfer_to_parent: bool
    disallow_transfer_to_peers: bool
    planner: BasePlanner | None
    code_executor: BaseCodeExecutor | None
    before_model_callback: Callbacks[LlmResponse]
    after_model_callback: Callbacks[LlmResponse]
    on_model_error_callback: Callbacks[LlmResponse]
    before_tool_callback: Callbacks[dict[str, Any]]
    after_tool_callback: Callbacks[dict[str, Any]]
    on_tool_error_callback: Callbacks[dict[str, Any]]

    @property
    def canonical_model(self) -> BaseLlm: ...

    @property
    def canonical_tool_sources(self) -> Sequence[BaseTool | BaseToolset]: ...

    @property
    def canonical_output_schema(self) -> OutputSchema | None: ...

    @property
    def root_global_instruction(self) -> str | InstructionProvider: ...
