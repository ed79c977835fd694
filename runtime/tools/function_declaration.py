"""A Python signature as a function declaration (spec T1)."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

import pydantic_core
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from runtime import types
from runtime.errors import ConfigurationError
from runtime.tools.callables import annotation_of, docstring_of, entry_of, is_context_parameter, name_of
from runtime.tools.docstrings import description_of, parameter_descriptions
from runtime.tools.schema import adapter_of, schema_of

_CALLABLE_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")


@dataclass(frozen=True)
class Parameter:
    """A declared parameter: how it is described, and how its values are converted."""

    name: str
    adapter: TypeAdapter[Any]
    schema: types.Schema
    default: Any = inspect.Parameter.empty

    @property
    def is_required(self) -> bool:
        """Whether the model has to give it."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class FunctionSignature:
    """A function as the model sees it.

    Attributes:
        parameters: those that are declared, in order.
        context_names: the parameters that get the tool's context instead.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    context_names: tuple[str, ...]

    @functools.cached_property
    def schema(self) -> types.Schema | None:
        """The parameters as one object; None when there are none."""
        if not self.parameters:
            return None
        return types.Schema(
            type=types.Type.OBJECT,
            properties={parameter.name: parameter.schema for parameter in self.parameters},
            required=[parameter.name for parameter in self.parameters if parameter.is_required] or None,
        )


def read_signature(function: Callable[..., Any]) -> FunctionSignature:
    """What the function's name, type hints, defaults and docstring declare.

    Raises:
        ConfigurationError: a model cannot call the function; the message names function and parameter.
    """
    name = name_of(function)
    _refuse_uncallable(function, name)
    descriptions = parameter_descriptions(docstring_of(function))
    declared: list[Parameter] = []
    context_names: list[str] = []
    for parameter in _open_parameters(function, name):
        _refuse_positional(parameter, name)
        if is_context_parameter(function, parameter):
            context_names.append(parameter.name)
        else:
            annotation = annotation_of(function, parameter)
            declared.append(_declare(parameter, annotation, name, descriptions.get(parameter.name)))
    return FunctionSignature(
        name=name,
        description=description_of(docstring_of(function)),
        parameters=tuple(declared),
        context_names=tuple(context_names),
    )


def build_function_declaration(function: Callable[..., Any]) -> types.FunctionDeclaration:
    """The declaration of a function; raises as `read_signature` does."""
    signature = read_signature(function)
    return types.FunctionDeclaration(
        name=signature.name, description=signature.description, parameters=signature.schema
    )


def _open_parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    """The parameters that a model can fill: not `**kwargs`, and not what a partial has filled already."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError as error:
        raise ConfigurationError(
            f"Tool {name!r} has no signature that Python can read. Wrap it in a function with type hints."
        ) from error
    filled = function.keywords if isinstance(function, functools.partial) else {}
    return [p for p in parameters if p.name not in filled and p.kind is not inspect.Parameter.VAR_KEYWORD]


def _declare(parameter: inspect.Parameter, annotation: Any, tool: str, description: str | None) -> Parameter:
    owner = f"Parameter {parameter.name!r} of tool {tool!r}"
    adapter = adapter_of(annotation, owner)
    about: dict[str, Any] = {}
    if text := _annotated_text(annotation) or description:
        about["description"] = text
    if (default := _json_default(parameter.default)) is not None:
        about["default"] = default
    schema = schema_of(adapter, owner, **about)
    if parameter.default is None:
        for member in schema.any_of or [schema]:
            member.nullable = True
    return Parameter(parameter.name, adapter, schema, parameter.default)


def _annotated_text(annotation: Any) -> str | None:
    """The text of `Annotated[..., "text"]` or `Annotated[..., Field(description="text")]`."""
    if get_origin(annotation) is not Annotated:
        return None
    for item in get_args(annotation)[1:]:
        text = item.description if isinstance(item, FieldInfo) else item
        if isinstance(text, str):
            return text
    return None


def _json_default(default: Any) -> Any:
    """The default as the model reads it; None when there is none, or none that JSON can say."""
    if default is inspect.Parameter.empty:
        return None
    try:
        return pydantic_core.from_json(pydantic_core.to_json(default))
    except pydantic_core.PydanticSerializationError:
        return None


def _refuse_uncallable(function: Callable[..., Any], name: str) -> None:
    if not _CALLABLE_NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} is no name that a model can call. Define the tool with `def` and a name of letters, "
            "digits and underscores."
        )
    entry = entry_of(function)
    if inspect.isasyncgenfunction(entry) or inspect.isgeneratorfunction(entry):
        raise ConfigurationError(
            f"Tool {name!r} is a generator. A tool answers once: return the result instead."
        )


def _refuse_positional(parameter: inspect.Parameter, name: str) -> None:
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        raise ConfigurationError(
            f"Tool {name!r} takes *{parameter.name}, but a model gives arguments by name. "
            f"Take a list instead, such as `{parameter.name}: list[str]`."
        )
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise ConfigurationError(
            f"Parameter {parameter.name!r} of tool {name!r} is positional-only, but a model gives arguments "
            "by name. Remove the `/` from the signature."
        )
