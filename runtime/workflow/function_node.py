"""FunctionNode: a Python function as a node, and the gate that asks the person before it runs.

A question to a person belongs to a call, which the log can hold open and a client can answer, but a function of a
workflow is run without one. The gate makes it: a tool that does nothing and has the name of the node. Its call goes the
way of all tools that ask for a confirmation or a credential, and once its result is `ALLOWED`, the function runs.
"""

import inspect
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from enum import Enum, auto
from functools import partial
from typing import Any, Literal, cast

from pydantic import BaseModel, PrivateAttr, TypeAdapter

from runtime import types
from runtime.auth.auth_tool import AuthConfig
from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.tools.base_tool import BaseTool
from runtime.tools.callables import (
    annotation_of,
    docstring_of,
    is_context_parameter,
    name_of,
    underlying_function,
)
from runtime.tools.require_confirmation import Predicate, is_confirmation_required
from runtime.tools.tool_threads import run_in_tool_thread
from runtime.workflow.base_node import BaseNode
from runtime.workflow.errors import NodeDataError
from runtime.workflow.node_context import NodeContext
from runtime.workflow.node_data import adapter_for, as_json, fit
from runtime.workflow.tool_node import ToolNode

ALLOWED = {"status": "allowed"}
"""Result of the recorded call: the node's function may run."""
_END = object()
_CONTEXT_NAME = "ctx"
_INPUT_NAME = "node_input"
_EMPTY = inspect.Parameter.empty
_FIELDS = TypeAdapter(dict[str, Any])


class GateTool(BaseTool):
    """The call that stands in the log for the run of a node's function.

    Args:
        name: name of the node.
        rule: True if a person must confirm each run; a predicate decides by the function's arguments.
        auth_config: credential that the function needs; None if it needs none.
    """

    def __init__(
        self, name: str, description: str, rule: bool | Predicate, auth_config: AuthConfig | None
    ) -> None:
        super().__init__(name=name, description=description)
        self._rule = rule
        self._auth_config = auth_config

    async def needs_confirmation(self, *, args: dict[str, Any], tool_context: Context) -> bool:
        return await is_confirmation_required(self._rule, args, tool_context)

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Return `ALLOWED`; ask for the credential if it was not given with this invocation's message."""
        if self._auth_config is not None and tool_context.get_auth_response(self._auth_config) is None:
            tool_context.request_credential(self._auth_config)
            return None
        return ALLOWED


def gate_for(
    name: str, description: str, rule: bool | Predicate, auth_config: AuthConfig | None
) -> ToolNode | None:
    """Return the node that asks the person; None if nothing is to be asked."""
    if not rule and auth_config is None:
        return None
    return ToolNode(tool=GateTool(name, description, rule, auth_config))


class _Form(Enum):
    """The form of a function, which decides how it is called."""

    FUNCTION = auto()
    COROUTINE = auto()
    GENERATOR = auto()
    ASYNC_GENERATOR = auto()


def _form_of(func: Callable[..., Any]) -> _Form:
    function = underlying_function(func)
    if inspect.isasyncgenfunction(function):
        return _Form.ASYNC_GENERATOR
    if inspect.isgeneratorfunction(function):
        return _Form.GENERATOR
    if inspect.iscoroutinefunction(function):
        return _Form.COROUTINE
    return _Form.FUNCTION


def _is_filled(parameter: inspect.Parameter) -> bool:
    return parameter.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


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

    Attributes:
        parameter_binding: `node_input` fills all parameters with the fields of the input, in place of the state.
        require_confirmation: True if a person must confirm each run; a predicate decides by the arguments.
        auth_config: the credential that the person is asked for; `ctx.get_auth_response(auth_config)` returns it.

    Raises:
        ConfigurationError: a parameter can only be given by position, or its type cannot be resolved.
    """

    parameter_binding: Literal["state", "node_input"] = "state"
    require_confirmation: bool | Callable[..., Any] = False
    auth_config: AuthConfig | None = None

    _func: Callable[..., Any] = PrivateAttr()
    _parameters: dict[str, inspect.Parameter] = PrivateAttr()
    _context_names: set[str] = PrivateAttr()
    _adapters: dict[str, TypeAdapter[Any] | None] = PrivateAttr()
    _gate: ToolNode | None = PrivateAttr()
    _form: _Form = PrivateAttr()

    def __init__(self, *, func: Callable[..., Any], name: str | None = None, **fields: Any) -> None:
        super().__init__(**{"description": docstring_of(func), **fields}, name=name or name_of(func))
        self._func = func
        self._form = _form_of(func)
        self._gate = gate_for(self.name, self.description, self.require_confirmation, self.auth_config)
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

    def clone(self) -> BaseNode:
        """Return a node with a copy of the gate, which has an agent."""
        copied = self.model_copy()
        if self._gate:
            copied._gate = cast("ToolNode", self._gate.clone())
        return copied

    def with_settings(self, settings: Mapping[str, Any]) -> "FunctionNode":
        """Return a node of the same function with these fields."""
        fields = {name: getattr(self, name) for name in self.model_fields_set}
        return FunctionNode(func=self._func, **{**fields, **settings})

    @property
    def gate(self) -> ToolNode | None:
        """The node that asks the person first; None if nothing is to be asked."""
        return self._gate

    @property
    def state_keys(self) -> list[str]:
        """The parameters that are filled from the state."""
        if self.parameter_binding == "node_input":
            return []
        return [name for name in self._adapters if name != _INPUT_NAME and _is_filled(self._parameters[name])]

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        arguments = self._arguments(ctx, node_input)
        if self._gate is not None and self._gate.result(ctx) != ALLOWED:
            async with aclosing(self._gate.ask(ctx, self._shown_arguments(arguments))) as items:
                async for item in items:
                    yield item
            answer = self._gate.result(ctx)
            if answer != ALLOWED:
                if not ctx.invocation.updated_log().pending_calls(ctx.node_path):
                    yield answer
                return
        form = self._form
        if form is _Form.ASYNC_GENERATOR:
            async with aclosing(self._func(**arguments)) as items:
                async for item in items:
                    yield item
        elif form is _Form.GENERATOR:
            generator = self._func(**arguments)
            # With `_END`, because a StopIteration cannot pass through the future of a thread.
            try:
                while (item := await run_in_tool_thread(partial(next, generator, _END))) is not _END:
                    yield item
            finally:
                generator.close()
        elif form is _Form.COROUTINE:
            yield await self._func(**arguments)
        else:
            result = await run_in_tool_thread(self._func, **arguments)
            # A plain function may return a coroutine or a future.
            yield await result if inspect.isawaitable(result) else result

    def _arguments(self, ctx: NodeContext, node_input: Any) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        context_names = self._context_names
        binds_input = self.parameter_binding == "node_input"
        values: Mapping[str, Any] = ctx.state
        source = "state"
        if binds_input:
            values = self._fields_of(node_input)
            source = "input"
        for name, parameter in self._parameters.items():
            if name in context_names:
                arguments[name] = ctx
            elif not _is_filled(parameter):
                continue
            elif name == _INPUT_NAME and not binds_input:
                arguments[name] = self._convert(parameter, node_input)
            elif name in values:
                arguments[name] = self._convert(parameter, values[name])
            elif parameter.default is _EMPTY:
                raise NodeDataError(
                    f"Node {self.name!r} needs {name!r}, which is not in the {source}. Let an earlier node write it, "
                    "or give the parameter a default."
                )
        return arguments

    def _shown_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments with the defaults and without the context, as JSON values."""
        shown: dict[str, Any] = {}
        for name, parameter in self._parameters.items():
            if name in arguments and name not in self._context_names:
                shown[name] = as_json(arguments[name])
            elif name not in arguments and _is_filled(parameter):
                shown[name] = as_json(parameter.default)
        return shown

    def _fields_of(self, node_input: Any) -> dict[str, Any]:
        """Return the fields of an input, which may be an object or JSON text."""
        if isinstance(node_input, BaseModel) and not isinstance(node_input, types.Content):
            return dict(node_input)
        fields: dict[str, Any] = fit(node_input, _FIELDS, f"The input of node {self.name!r}")
        return fields

    def _convert(self, parameter: inspect.Parameter, value: Any) -> Any:
        if value is None and parameter.default is None:
            return None
        adapter = self._adapters.get(parameter.name)
        return fit(value, adapter, f"Parameter {parameter.name!r} of node {self.name!r}")
