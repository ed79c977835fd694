"""LlmAgentProtocol: configuration of an LLM agent, as the engine reads it.

`LlmAgent` imports the engine to run its steps; the engine must not import it back.
"""

from __future__ import annotations

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

    @property
    def canonical_model(self) -> BaseLlm: ...

    @property
    def canonical_tool_sources(self) -> Sequence[BaseTool | BaseToolset]: ...

    @property
    def output_key(self) -> str | None: ...

    @property
    def mode(self) -> Literal["chat", "single_turn", "task"] | None: ...

    @property
    def canonical_output_schema(self) -> OutputSchema | None: ...

    @property
    def root_global_instruction(self) -> str | InstructionProvider: ...

    @property
    def instruction(self) -> str | InstructionProvider: ...

    @property
    def static_instruction(self) -> types.ContentUnion | None: ...

    @property
    def generate_content_config(self) -> types.GenerateContentConfig | None: ...

    @property
    def include_contents(self) -> Literal["default", "none"]: ...

    @property
    def disallow_transfer_to_parent(self) -> bool: ...

    @property
    def disallow_transfer_to_peers(self) -> bool: ...

    @property
    def planner(self) -> BasePlanner | None: ...

    @property
    def code_executor(self) -> BaseCodeExecutor | None: ...

    @property
    def before_model_callback(self) -> Callbacks[LlmResponse]: ...

    @property
    def after_model_callback(self) -> Callbacks[LlmResponse]: ...

    @property
    def on_model_error_callback(self) -> Callbacks[LlmResponse]: ...

    @property
    def before_tool_callback(self) -> Callbacks[dict[str, Any]]: ...

    @property
    def after_tool_callback(self) -> Callbacks[dict[str, Any]]: ...

    @property
    def on_tool_error_callback(self) -> Callbacks[dict[str, Any]]: ...
