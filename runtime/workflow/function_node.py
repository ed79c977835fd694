"""FunctionNode: a Python function as a node."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from typing import Any

from pydantic import PrivateAttr, TypeAdapter

from runtime.errors import ConfigurationError
from runtime.tools.callables import (
    annotation_of,
    docstring_of,
    is_context_parameter,
    name_of,
    underlying_function,
)
from runtime.tools.tool_threads import run_in_tool_thread
from runtime.workflow.base_node import BaseNode
from runtime.workflow.errors import NodeDataError
from runtime.workflow.node_context import NodeContext
from runtime.workflow.node_data import adapter_for, fit

_END = object()
_CONTEXT_NAME = "ctx"
_INPUT_NAME = "node_input"
_EMPTY = inspect.Parameter.empty


class FunctionNode(BaseNode):
    """A function, coroutine function or generator as a node; a synchronous one runs in a thread (contract L11).

    Its parameters are filled by name: `node_input` gets the node's input, `ctx` (or a parameter annotated with a
    context) the context, and every other one the value of this key in the state. Values are converted to the
    parameter's type.

    What it returns is the output. An `Event` gives an output, a route, state or a message; a `RequestInput` asks the
    person. A generator may yield several events, and one output.

    Args:
        func: the function.
        name: name of the node; None: the function's.

    Raises:
        ConfigurationError: a parameter can only be given by position, or its type cannot be resolved.
    """

    _func: Callable[..., Any] = PrivateAttr()
    _parameters: dict[str, inspect.Parameter] = PrivateAttr()
    _context_names: set[str] = PrivateAttr()
    _adapters: dict[str, TypeAdapter[Any] | None] = PrivateAttr()

    def __init__(self, *, func: Callable[..., Any], name: str | None = None, **fields: Any) -> None:
        super().__init__(**{"description": docstring_of(func), **fields}, name=name or name_of(func))
        self._func = func
        self._parameters = dict(inspect.signature(func).parameters)
        self._context_names = set()
        self._adapters = {}
        for parameter in self._parameters.values():
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                raise ConfigurationError(
                    f"Node {self.name!r} has a parameter {parameter.name!r} that can only be given by position. Remove "
                    "the `/` from its signature."
                )
            if parameter.name == _CONTEXT_NAME or is_context_parameter(func, parameter):
                self._context_names.add(parameter.name)
            else:
                owner = f"Parameter {parameter.name!r} of node {self.name!r}"
                self._adapters[parameter.name] = adapter_for(annotation_of(func, parameter), owner)

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        arguments = self._arguments(ctx, node_input)
        function = underlying_function(self._func)
        if inspect.isasyncgenfunction(function):
            async with aclosing(self._func(**arguments)) as items:
                async for item in items:
                    yield item
        elif inspect.isgeneratorfunction(function):
            generator = self._func(**arguments)
            try:
                while (item := await run_in_tool_thread(partial(next, generator, _END))) is not _END:
                    yield item
            finally:
                generator.close()
        elif inspect.iscoroutinefunction(function):
            yield await self._func(**arguments)
        else:
            result = await run_in_tool_thread(self._func, **arguments)
            yield await result if inspect.isawaitable(result) else result

    def _arguments(self, ctx: NodeContext, node_input: Any) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        for name, parameter in self._parameters.items():
            if name in self._context_names:
                arguments[name] = ctx
            elif parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                continue
            elif name == _INPUT_NAME:
                arguments[name] = self._convert(parameter, node_input)
            elif name in ctx.state:
                arguments[name] = self._convert(parameter, ctx.state[name])
            elif parameter.default is _EMPTY:
                raise NodeDataError(
                    f"Node {self.name!r} needs {name!r}, which is not in the state. Let an earlier node write it, or "
                    "give the parameter a default."
                )
        return arguments

    def _convert(self, parameter: inspect.Parameter, value: Any) -> Any:
        if value is None and parameter.default is None:
            return None
        adapter = self._adapters.get(parameter.name)
        return fit(value, adapter, f"Parameter {parameter.name!r} of node {self.name!r}")
