"""ReflectAndRetryToolPlugin: lets the model try again after a failure of a tool."""

from typing import Any

from runtime.context import Context
from runtime.errors import AdkError, ConfigurationError
from runtime.plugins.base_plugin import BasePlugin
from runtime.sessions.state import State
from runtime.tools.base_tool import BaseTool
from runtime.valid_text import json_text

Result = dict[str, Any]

REFLECT_AND_RETRY_RESPONSE_TYPE = "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN"


class ToolRetriesExceededError(AdkError):
    """A tool reported an error more often than the retry plugin allows."""


class ReflectAndRetryToolPlugin(BasePlugin):
    """Answers a tool's failure with the error and advice for the model to correct its call.

    Consecutive failures are counted per tool and invocation, in `temp:` state; a success resets the count.
    Parallel calls of one tool share the count.

    Args:
        max_retries: number of consecutive failures to answer.
        throw_exception_if_retry_exceeded: True to raise a further failure, which the agent's `on_tool_error` callback
            may handle; False to advise the model to stop using the tool.

    Raises:
        ConfigurationError: `max_retries` is negative.
    """

    def __init__(
        self,
        name: str = "reflect_retry_tool_plugin",
        max_retries: int = 3,
        throw_exception_if_retry_exceeded: bool = True,
    ) -> None:
        super().__init__(name)
        if max_retries < 0:
            raise ConfigurationError(
                f"Plugin {name!r} cannot allow {max_retries} retries. Give zero or more."
            )
        self.max_retries = max_retries
        self.throw_exception_if_retry_exceeded = throw_exception_if_retry_exceeded

    async def extract_error_from_result(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, result: Any
    ) -> Any | None:
        """Return the error reported by a result, or None. Override this method for tools that do not raise."""
        return None

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, error: Exception
    ) -> Result | None:
        """Return guidance for the model; None to let the failure be raised."""
        return self._guidance(tool, tool_args, tool_context, error)

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, result: Any
    ) -> Result | None:
        """Return guidance in place of an error result.

        Raises:
            ToolRetriesExceededError: the tool failed more than `max_retries` times in a row.
        """
        # Guidance of `on_tool_error_callback` passes here as the tool's result; it must not reset the count.
        if isinstance(result, dict) and result.get("response_type") == REFLECT_AND_RETRY_RESPONSE_TYPE:
            return None
        error = await self.extract_error_from_result(
            tool=tool, tool_args=tool_args, tool_context=tool_context, result=result
        )
        if not error:
            self._reset_count(tool, tool_context)
            return None
        guidance = self._guidance(tool, tool_args, tool_context, error)
        if guidance is None:
            raise ToolRetriesExceededError(
                f"Tool {tool.name!r} has used up its limit of retries ({self.max_retries}): {error}"
            )
        return guidance

    def _guidance(
        self, tool: BaseTool, args: dict[str, Any], tool_context: Context, error: object
    ) -> Result | None:
        # No await between reading and writing the count, so that parallel calls cannot interleave.
        failures = tool_context.state.get(self._count_key(tool), 0) + 1
        tool_context.state[self._count_key(tool)] = failures
        advice = _retry_advice(failures, self.max_retries)
        if failures > self.max_retries:
            if self.throw_exception_if_retry_exceeded:
                return None
            advice = _stop_advice(tool)
        error_type = "ToolError"
        if isinstance(error, Exception):
            error_type = type(error).__name__
        args_json = json_text(args)
        return {
            "response_type": REFLECT_AND_RETRY_RESPONSE_TYPE,
            "error_type": error_type,
            "error_details": str(error),
            "retry_count": min(failures, self.max_retries),
            "reflection_guidance": f"The call of `{tool.name}` with {args_json} failed: {error}\n{advice}",
        }

    def _reset_count(self, tool: BaseTool, tool_context: Context) -> None:
        if tool_context.state.get(self._count_key(tool)):
            tool_context.state[self._count_key(tool)] = 0

    def _count_key(self, tool: BaseTool) -> str:
        return f"{State.TEMP_PREFIX}{self.name}:{tool.name}"


def _retry_advice(failures: int, allowed: int) -> str:
    return (
        f"This is failure {failures} of {allowed} that may be followed by another try. Do not repeat the same call. "
        "Ask yourself: are the arguments complete and of the right form? Was something to be done before? Is another "
        "tool better suited, or are smaller steps? Then go on with a corrected call or in another way."
    )


def _stop_advice(tool: BaseTool) -> str:
    return (
        f"It has failed too often: do not call `{tool.name}` again for this question. Reach the goal in another way, "
        "or say openly that it cannot be done."
    )
