"""The tool `transfer_to_agent`: hands the invocation to another agent (contract A6)."""

from collections.abc import Sequence
from typing import Any

from runtime import types
from runtime.tools.base_tool import BaseTool
from runtime.tools.callables import description_of
from runtime.tools.tool_context import ToolContext


def transfer_to_agent(
    agent_name: str, tool_context: ToolContext
) -> None:  # the docstring is sent to the model
    """Hand the question to another agent that can answer it better.

    Args:
        agent_name: The name of the agent.
    """
    tool_context.actions.transfer_to_agent = agent_name


class TransferToAgentTool(BaseTool):
    """`transfer_to_agent`, limited to the given agents. Any other name is an error response to the model."""

    can_run_in_job = False

    def __init__(self, agent_names: Sequence[str]) -> None:
        super().__init__(
            name=transfer_to_agent.__name__, description=description_of(transfer_to_agent.__doc__)
        )
        self.agent_names = list(agent_names)

    def _get_declaration(self) -> types.FunctionDeclaration:
        name = types.Schema(
            type=types.Type.STRING, description="The name of the agent.", enum=list(self.agent_names)
        )
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters=types.Schema(
                type=types.Type.OBJECT, properties={"agent_name": name}, required=["agent_name"]
            ),
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        name = args.get("agent_name")
        if name not in self.agent_names:
            names = ", ".join(self.agent_names)
            return {"error": f"There is no agent {name!r} to transfer to. Choose one of: {names}."}
        return transfer_to_agent(name, tool_context)
