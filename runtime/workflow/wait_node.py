"""WaitNode: waits until a time, or for some seconds."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from pydantic import AwareDatetime, Field

from runtime import _platform, types
from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.events.calls import ResponseStatus
from runtime.models.llm_response import text_in
from runtime.run_config import StageWait
from runtime.tools.base_tool import BaseTool
from runtime.workflow.errors import NodeWaitsError
from runtime.workflow.node_context import NodeContext
from runtime.workflow.tool_node import ToolNode

LONGEST_SECONDS = 3650 * 86_400.0


class WaitTool(BaseTool):
    """The call that stands in the log for a wait.

    Args:
        name: name of the node.
        stage: see `RunConfig.stage_wait`.
    """

    def __init__(self, name: str, stage: StageWait | None = None) -> None:
        super().__init__(name=name, description="Waits until a time.", is_long_running=stage is not None)
        self._stage = stage

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        until = datetime.fromisoformat(args["until"])
        if self._stage is not None:
            return self._stage(self.name, tool_context, until)
        await asyncio.sleep(max(0.0, until.timestamp() - _platform.now()))
        return {"status": ResponseStatus.SUCCEEDED.value}


class WaitNode(ToolNode):
    """Waits until a time, or for some seconds; the output is the input.

    The time is recorded when the node begins, so a wait that was interrupted ends when it would have ended. On the site
    no process waits; with another Runner, its process does. After a wait that the person has cancelled, nothing
    follows.

    Attributes:
        seconds: length of the wait, up to ten years.
        until: end of the wait, with an offset from UTC; a time in the past ends it at once.

    Raises:
        ConfigurationError: neither of them is set, or both.
    """

    seconds: float | None = Field(default=None, gt=0, le=LONGEST_SECONDS)
    until: AwareDatetime | None = None

    def __init__(self, *, name: str, **fields: Any) -> None:
        super().__init__(tool=WaitTool(name), name=name, **fields)
        if (self.seconds is None) == (self.until is None):
            raise ConfigurationError(f"Node {name!r} must know how long to wait. Set seconds, or until.")

    @property
    def needs_slot(self) -> bool:
        """Return False: a node that only waits takes no slot from others."""
        return False

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        tool = WaitTool(self.name, ctx.invocation.run_config.stage_wait)
        async with aclosing(self.ask(ctx, {"until": self._end().isoformat()}, tool)) as events:
            async for event in events:
                yield event
        result = self.result(ctx)
        if isinstance(result, dict) and result.get("status") == ResponseStatus.CANCELLED:
            raise NodeWaitsError
        if isinstance(node_input, types.Content):
            node_input = text_in(node_input)
        yield node_input

    def _end(self) -> datetime:
        """Return the end of a wait that begins now."""
        if self.until is not None:
            return self.until.astimezone(UTC)
        return datetime.fromtimestamp(_platform.now() + (self.seconds or 0.0), UTC)
