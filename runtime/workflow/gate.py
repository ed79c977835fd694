"""Gate: asks the person before a function node runs, for a confirmation or a credential."""

from __future__ import annotations

from typing import Any

from runtime.auth.auth_tool import AuthConfig
from runtime.context import Context
from runtime.tools.base_tool import BaseTool
from runtime.tools.require_confirmation import Predicate, is_confirmation_required
from runtime.workflow.tool_node import ToolNode

OPEN = {"status": "allowed"}
"""Result of the recorded call: the node's function may run."""


class GateTool(BaseTool):
    """The call that stands in the log for the run of a node's function.

    Args:
        name: name of the node.
        rule: True if a person must confirm each run; a predicate decides by the function's arguments.
        auth_config: the credential that the function needs; None: none.
    """

    def __init__(
        self, name: str, description: str, rule: bool | Predicate, auth_config: AuthConfig | None
    ) -> None:
        super().__init__(name=name, description=description)
        self._rule = rule
        self._auth_config = auth_config

    async def needs_confirmation(self, *, args: dict[str, Any], tool_context: Context) -> bool:
        """Apply the rule."""
        return await is_confirmation_required(self._rule, args, tool_context)

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Return `OPEN`; ask for the credential if it was not given with this invocation's message."""
        if self._auth_config is not None and tool_context.get_auth_response(self._auth_config) is None:
            tool_context.request_credential(self._auth_config)
            return None
        return OPEN


def gate_for(
    name: str, description: str, rule: bool | Predicate, auth_config: AuthConfig | None
) -> ToolNode | None:
    """Return the node that asks the person; None if nothing is to be asked."""
    if not rule and auth_config is None:
        return None
    return ToolNode(tool=GateTool(name, description, rule, auth_config))
