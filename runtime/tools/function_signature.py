"""Signature of a Python function for a model to call (contract T1).

A type that cannot be described to a model does not make the function unusable: the parameter then takes any value, and
a warning names the remedy. Only what can never work is refused: a generator, and positional-only parameters.
"""

import functools
import inspect
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

import pydantic_core
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from runtime import types
from runtime.errors import ConfigurationError
from runtime.tools.callables import (
    annotation_of,
    description_of,
    docstring_of,
    is_context_parameter,
    name_of,
    parameter_descriptions,
    underlying_function,
)
from runtime.tools.schema import argument_adapter_of, schema_of

logger = logging.getLogger(__name__)

_CALLABLE_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")


@dataclass(frozen=True)
class Parameter:
    """A declared parameter, with its schema for the model and the adapter to convert values."""

    name: str
    adapter: TypeAdapter[Any]
    schema: types.Schema
    default: Any = inspect.Parameter.empty

    @property
    def is_required(self) -> bool:
        """Return True if the model must pass this parameter."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class FunctionSignature:
    """A function as the model sees it.

    Attributes:
        parameters: the parameters declared to the model, in order.
        context_names: names of the parameters that get the tool's context and are not declared.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    context_names: tuple[str, ...]

    @functools.cached_property
    def schema(self) -> types.Schema | None:
        """The parameters as one object schema; None without parameters."""
        if not self.parameters:
            return None
        return types.Schema(
            type=types.Type.OBJECT,
            properties={parameter.name: parameter.schema for parameter in self.parameters},
            required=[parameter.name for parameter in self.parameters if parameter.is_required] or None,
        )


def read_signature(function: Callable[..., Any]) -> FunctionSignature:
    """Read a function's name, type hints, defaults and docstring.

    Raises:
        ConfigurationError: a model cannot call the function. The message names the function and the parameter.
    """
    name = name_of(function)
    if not _CALLABLE_NAME.fullmatch(name):
        logger.warning("Tool %r has a name that most models refuse. Define the tool with `def`.", name)
    _refuse_generator(function, name)
    descriptions = parameter_descriptions(docstring_of(function))
    declared: list[Parameter] = []
    context_names: list[str] = []
    for parameter in _unfilled_parameters(function, name):
        _refuse_positional_only(parameter, name)
        if is_context_parameter(function, parameter):
            context_names.append(parameter.name)
        else:
            declared.append(_declare(function, parameter, descriptions.get(parameter.name)))
    return FunctionSignature(
        name=name,
        description=description_of(docstring_of(function)),
        parameters=tuple(declared),
        context_names=tuple(context_names),
    )


def _unfilled_parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    """Return the parameters except `*args`, `**kwargs` and keywords filled by a partial."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError as error:
        raise ConfigurationError(
            f"Tool {name!r} has no signature that Python can read. Wrap it in a function with type hints."
        ) from error
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            logger.warning(
                "Tool %r takes *%s, which stays empty: a model gives arguments by name. Take a list instead.",
                name,
                parameter.name,
            )
    filled = function.keywords if isinstance(function, functools.partial) else {}
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p for p in parameters if p.name not in filled and p.kind not in variable]


def _declare(
    function: Callable[..., Any], parameter: inspect.Parameter, description: str | None
) -> Parameter:
    """Return the declared parameter. A type that cannot be described to a model becomes `Any`."""
    try:
        return _declare_as(annotation_of(function, parameter), function, parameter, description)
    except ConfigurationError as error:
        logger.warning("%s Until then the model is told no type, and the value is passed on as it is.", error)
        return _declare_as(Any, function, parameter, description)


def _declare_as(
    annotation: Any, function: Callable[..., Any], parameter: inspect.Parameter, description: str | None
) -> Parameter:
    owner = f"Parameter {parameter.name!r} of tool {name_of(function)!r}"
    adapter = argument_adapter_of(annotation, owner)
    about: dict[str, Any] = {}
    text = _annotated_text(annotation) or description
    if text:
        about["description"] = text
    default = _json_default(parameter.default)
    if default is not None:
        about["default"] = default
    schema = schema_of(adapter, owner, **about)
    if parameter.default is None:
        # Gemini accepts no fields next to `any_of`, so each branch is nullable.
        for member in schema.any_of or [schema]:
            member.nullable = True
    return Parameter(parameter.name, adapter, schema, parameter.default)


def _annotated_text(annotation: Any) -> str | None:
    """Return the text of `Annotated[..., "text"]` or `Annotated[..., Field(description="text")]`, or None."""
    if get_origin(annotation) is not Annotated:
        return None
    for item in get_args(annotation)[1:]:
        text = item.description if isinstance(item, FieldInfo) else item
        if isinstance(text, str):
            return text
    return None


def _json_default(default: Any) -> Any:
    """Return the default as a JSON value; None without a default or without a JSON form."""
    if default is inspect.Parameter.empty:
        return None
    try:
        return pydantic_core.from_json(pydantic_core.to_json(default))
    except pydantic_core.PydanticSerializationError:
        return None


def _refuse_generator(function: Callable[..., Any], name: str) -> None:
    entry = underlying_function(function)
    if inspect.isasyncgenfunction(entry) or inspect.isgeneratorfunction(entry):
        raise ConfigurationError(
            f"Tool {name!r} is a generator. A tool answers once: return the result instead."
        )


def _refuse_positional_only(parameter: inspect.Parameter, name: str) -> None:
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise ConfigurationError(
            f"Parameter {parameter.name!r} of tool {name!r} is positional-only, but a model gives arguments "
            "by name. Remove the `/` from the signature."
        )
