"""Inputs and outputs of nodes: JSON values, or the content of a message."""

import json
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from runtime import types
from runtime.models.llm_response import text_in
from runtime.sessions.state import StateSchemaError
from runtime.tools.schema import argument_adapter_of
from runtime.workflow.errors import NodeDataError


def adapter_for(schema: Any, owner: str) -> TypeAdapter[Any] | None:
    """Return the adapter for data of the type `schema`; None for any data. A JSON schema is not enforced.

    Raises:
        ConfigurationError: pydantic does not support the type. The message names the `owner` of the type.
    """
    if schema is None or schema is Any or isinstance(schema, dict | types.Schema):
        return None
    return argument_adapter_of(schema, owner)


def fit(value: Any, adapter: TypeAdapter[Any] | None, subject: str) -> Any:
    """Return the value as an object of the adapter's type.

    A text is read as JSON where the type needs more than a text. Of a message, this is its text.

    Raises:
        NodeDataError: the value does not fit. The message begins with `subject`.
    """
    if adapter is None:
        return value
    # A node may want the message itself, which can have files.
    if isinstance(value, types.Content) and adapter.core_schema.get("cls") is not types.Content:
        value = text_in(value)
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        if isinstance(value, str):
            with suppress(ValidationError):  # The first error says more about the value.
                return adapter.validate_json(value)
        problems = "; ".join(problem["msg"] for problem in error.errors(include_url=False))
        raise NodeDataError(f"{subject} does not fit: {problems}.") from error


def fit_output(value: Any, adapter: TypeAdapter[Any] | None, subject: str) -> Any:
    """Return the value as JSON values of the adapter's type, without fields that are None.

    Raises:
        NodeDataError: the value does not fit, or is no JSON.
    """
    if adapter is None:
        return as_json(value)
    return adapter.dump_python(fit(value, adapter, subject), mode="json", exclude_none=True)


def check_state(delta: Mapping[str, Any], schema: type[BaseModel] | None, node_name: str) -> None:
    """Check what a node has written into the state. Keys with a prefix, such as `user:`, are free.

    Raises:
        StateSchemaError: a key is not in the schema, or a value does not fit its field.
    """
    if schema is None:
        return
    for key, value in delta.items():
        if ":" in key:
            continue
        field = schema.model_fields.get(key)
        if field is None:
            raise StateSchemaError(
                f"Node {node_name!r} writes {key!r} into the state, which {schema.__name__} does not have. Add the "
                f"field, or write one of {', '.join(schema.model_fields)}."
            )
        try:
            adapter_of_field(schema, key).validate_python(value)
        except ValidationError as error:
            problems = "; ".join(problem["msg"] for problem in error.errors(include_url=False))
            raise StateSchemaError(
                f"Node {node_name!r} writes {key!r} into the state, and the value does not fit {schema.__name__}: "
                f"{problems}."
            ) from error


@lru_cache(maxsize=256)
def adapter_of_field(schema: type[BaseModel], name: str) -> TypeAdapter[Any]:
    """Return the adapter for a field of the model, with its constraints."""
    return TypeAdapter(schema.model_fields[name].rebuild_annotation())


def as_json(value: Any) -> Any:
    """Return the value as JSON values.

    Raises:
        NodeDataError: the value is no JSON.
    """
    try:
        return to_jsonable_python(value, bytes_mode="base64")
    except ValueError as error:  # also of a value that contains itself
        raise NodeDataError(f"An output must be JSON, a pydantic model or a dataclass: {error}") from error


def stored_route(route: Any, node_name: str) -> Any:
    """Return the route that a node has chosen as it is stored: a member of an enum as its value.

    Raises:
        NodeDataError: the route is no text, number or boolean. An event with it could not be read again.
    """
    if isinstance(route, list | tuple):
        return [_stored_value(member, node_name) for member in route]
    return _stored_value(route, node_name)


def _stored_value(route: Any, node_name: str) -> Any:
    value = route
    if isinstance(route, Enum):
        value = route.value
    if value is not None and not isinstance(value, bool | int | str):
        raise NodeDataError(
            f"Node {node_name!r} chose the route {value!r}. Routes are texts, numbers or booleans."
        )
    return value


def as_content(value: Any) -> types.Content:
    """Return an input as a message of the user: a text as it is, other values as JSON."""
    if isinstance(value, types.Content):
        return value
    text = value
    if not isinstance(value, str):
        text = json.dumps(as_json(value), ensure_ascii=False)
    return types.Content(role="user", parts=[types.Part(text=text)])
