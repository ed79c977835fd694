"""Planning with the model's built-in thinking (contract A2)."""

from runtime import types
from runtime.context import Context, ReadonlyContext
from runtime.models.llm_request import LlmRequest
from runtime.planners.base_planner import BasePlanner


class BuiltInPlanner(BasePlanner):
    """Sets `thinking_config` on every request, and so overrides the agent's configuration."""

    def __init__(self, *, thinking_config: types.ThinkingConfig) -> None:
        self.thinking_config = thinking_config

    def apply_thinking_config(self, llm_request: LlmRequest) -> None:
        llm_request.config.thinking_config = self.thinking_config

    def build_planning_instruction(self, readonly_context: ReadonlyContext, llm_request: LlmRequest) -> None:
        """Set the config. No instruction is needed."""
        self.apply_thinking_config(llm_request)

    def process_planning_response(
        self, callback_context: Context, response_parts: list[types.Part]
    ) -> list[types.Part] | None:
        """Keep the parts, because the model marks its thoughts itself."""
        return None
