"""What a callable is called, what it documents, and how its annotations read (spec T1, Q4)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

from runtime.context import ReadonlyContext
from runtime.errors import ConfigurationError

_CONTEXT_NAMES = {"ToolContext", "CallbackContext", "Context", "ReadonlyContext"}


def without_partials(function: Callable[..., Any]) -> Callable[..., Any]:
    """The callable that partials were made of."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def name_of(function: Callable[..., Any]) -> str:
    """Its `__name__`, else the name of its class (spec Q4)."""
    function = without_partials(function)
    return str(getattr(function, "__name__", type(function).__name__))


def docstring_of(function: Callable[..., Any]) -> str:
    """Its own docstring, else that of its `__call__` (spec Q4)."""
    return without_partials(function).__doc__ or entry_of(function).__doc__ or ""


def entry_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that runs first: beneath partials, callable objects and methods, with its decorators."""
    function = without_partials(function)
    is_object = not inspect.isroutine(function) and not isinstance(function, type)
    entry: Any = type(function).__call__ if is_object else function
    method: Callable[..., Any] = entry.__func__ if inspect.ismethod(entry) else entry
    return method


def is_context_parameter(function: Callable[..., Any], parameter: inspect.Parameter) -> bool:
    """Whether the parameter gets the tool's context: by its name, or by its annotation (spec T1)."""
    if parameter.name == "tool_context":
        return True
    if isinstance(parameter.annotation, str) and _names_context(parameter.annotation):
        return True
    annotation = annotation_of(function, parameter)
    members = get_args(annotation) or (annotation,)
    return any(isinstance(member, type) and issubclass(member, ReadonlyContext) for member in members)


def annotation_of(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """The parameter's type, text resolved in the module of the function; `Any` when it has none.

    Raises:
        ConfigurationError: a name in the annotation is not known in that module.
    """
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty:
        return Any
    defined = inspect.unwrap(entry_of(function))
    names = defined.__globals__ if inspect.isfunction(defined) else {}
    holder = SimpleNamespace(__annotations__={parameter.name: annotation})
    try:
        return get_type_hints(holder, globalns=names, include_extras=True)[parameter.name]
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise ConfigurationError(
            f"Parameter {parameter.name!r} of tool {name_of(function)!r} is annotated {annotation!r}, which "
            f"cannot be resolved: {error}. Import or define that type at the top of the tool's module."
        ) from error


def _names_context(annotation: str) -> bool:
    """A context is often imported for type checking only, so its name is enough."""
    members = annotation.removeprefix("Optional[").removesuffix("]").split("|")
    return any(member.strip().rpartition(".")[2] in _CONTEXT_NAMES for member in members)
