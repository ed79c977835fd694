"""A Python function as a tool (spec T1, Q2, Q4)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from runtime import types
from runtime.callbacks import call
from runtime.context import Context
from runtime.tools.arguments import BadArguments, bind
from runtime.tools.base_tool import BaseTool
from runtime.tools.callables import entry_of, is_context_parameter
from runtime.tools.function_declaration import read_signature
from runtime.tools.tool_result import ToolError

Predicate = Callable[..., bool | Awaitable[bool]]


class FunctionTool(BaseTool):
    """Offers a function, method or callable object to the model.

    Its signature is read once, here. A sync function runs in a thread, with the caller's context variables
    (spec L11).

    Args:
        func: its name, type hints and docstring are what the model is told.
        require_confirmation: whether a person confirms each call; a callable is asked with those of the
            call's arguments that it takes, and may take `tool_context` (spec T7).

    Raises:
        ConfigurationError: the function cannot be called by a model.
    """

    def __init__(self, func: Callable[..., Any], *, require_confirmation: bool | Predicate = False) -> None:
        self.func = func
        self._signature = read_signature(func)
        self._require_confirmation = require_confirmation
        super().__init__(name=self._signature.name, description=self._signature.description)

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters=self._signature.schema
        )

    async def needs_confirmation(self, *, args: dict[str, Any], tool_context: Context) -> bool:
        """As `require_confirmation` says; never for wrong arguments, which `run_async` refuses.

        A callable is not asked again once the person has answered: the answer holds, whatever has changed since.
        """
        if self._require_confirmation is False:
            return False
        bound = bind(self._signature, args)
        if isinstance(bound, BadArguments):
            return False
        if self._require_confirmation is True or tool_context.tool_confirmation is not None:
            return True
        return bool(
            await call(self._require_confirmation, **_taken(self._require_confirmation, bound, tool_context))
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """What the function returns; `{'error': …}` for the model if the arguments are wrong."""
        bound = bind(self._signature, args)
        if isinstance(bound, BadArguments):
            return self._refuse(bound.message)
        for name in self._signature.context_names:
            bound[name] = tool_context
        return await self._invoke(bound)

    def _refuse(self, message: str) -> dict[str, Any]:
        """A long-running tool says so in the form that keeps the invocation from pausing (spec T5)."""
        return ToolError(message).as_response() if self.is_long_running else {"error": message}

    async def _invoke(self, arguments: dict[str, Any]) -> Any:
        if inspect.iscoroutinefunction(entry_of(self.func)):
            return await self.func(**arguments)
        result = await asyncio.to_thread(self.func, **arguments)
        return await result if inspect.isawaitable(result) else result


def _taken(predicate: Predicate, bound: dict[str, Any], tool_context: Context) -> dict[str, Any]:
    """The arguments that the predicate has parameters for."""
    parameters = inspect.signature(predicate).parameters.values()
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return bound
    taken = {parameter.name: bound[parameter.name] for parameter in parameters if parameter.name in bound}
    contexts = [p.name for p in parameters if is_context_parameter(predicate, p)]
    return {**taken, **dict.fromkeys(contexts, tool_context)}
