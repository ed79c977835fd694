"""Inspect callables: name, docstring, underlying function and annotations (contract T1, Q4)."""

import functools
import inspect
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

import docstring_parser

from runtime.context import ReadonlyContext
from runtime.errors import ConfigurationError

_CONTEXT_NAMES = {"ToolContext", "CallbackContext", "Context", "ReadonlyContext"}
_ARGS_SECTION = re.compile(
    r"^(?:Args|Arguments|Parameters):[ \t]*\n(?:[ \t]+.*(?:\n|$)|[ \t]*\n)*+", re.MULTILINE
)


def without_partials(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def name_of(function: Callable[..., Any]) -> str:
    """Return the callable's `__name__`, or the name of its class for a callable object."""
    function = without_partials(function)
    return str(getattr(function, "__name__", type(function).__name__))


def docstring_of(function: Callable[..., Any]) -> str:
    """Return the docstring of the callable, or of its `__call__`."""
    return without_partials(function).__doc__ or underlying_function(function).__doc__ or ""


def underlying_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function beneath partials, callable objects and bound methods. Keep decorators."""
    target: Any = without_partials(function)
    if not inspect.isroutine(target) and not isinstance(target, type):
        target = type(target).__call__
    if inspect.ismethod(target):
        target = target.__func__
    plain_function: Callable[..., Any] = target
    return plain_function


def is_context_parameter(function: Callable[..., Any], parameter: inspect.Parameter) -> bool:
    """Return True if the parameter's name or annotation marks it as the tool's context (contract T1)."""
    if parameter.name == "tool_context":
        return True
    if isinstance(parameter.annotation, str) and _names_context(parameter.annotation):
        return True
    try:
        annotation = annotation_of(function, parameter)
    except ConfigurationError:  # Reported where the parameter is declared.
        return False
    members = get_args(annotation) or (annotation,)
    return any(isinstance(member, type) and issubclass(member, ReadonlyContext) for member in members)


def annotation_of(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Return the parameter's type; `Any` without an annotation. Resolve string annotations in the function's module.

    Raises:
        ConfigurationError: the module does not define a name in the annotation.
    """
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty:
        return Any
    defined = inspect.unwrap(underlying_function(function))
    names = defined.__globals__ if inspect.isfunction(defined) else {}
    # One parameter at a time: `get_type_hints` of the function would fail for all if it fails for one.
    holder = SimpleNamespace(__annotations__={parameter.name: annotation})
    try:
        return get_type_hints(holder, globalns=names, include_extras=True)[parameter.name]
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise ConfigurationError(
            f"Parameter {parameter.name!r} of tool {name_of(function)!r} is annotated {annotation!r}, which "
            f"cannot be resolved: {error}. Import or define that type at the top of the tool's module."
        ) from error


def _names_context(annotation: str) -> bool:
    """Return True if a string annotation names a context class."""
    # By name, because the class may be imported for type checking only.
    members = annotation.removeprefix("Optional[").removesuffix("]").split("|")
    return any(member.strip().rpartition(".")[2] in _CONTEXT_NAMES for member in members)


def description_of(docstring: str | None) -> str:
    """Return the docstring without its `Args:` section, which describes the parameters."""
    return _ARGS_SECTION.sub("", inspect.cleandoc(docstring or "")).strip()


def parameter_descriptions(docstring: str | None) -> dict[str, str]:
    """Return the description of each parameter on one line. Understand Google, NumPy and reST styles."""
    params = docstring_parser.parse(docstring or "").params
    return {param.arg_name: " ".join(param.description.split()) for param in params if param.description}
