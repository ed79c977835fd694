"""Events read from their JSON, at a fraction of the cost of their validation.

google-genai validates contents, parts and calls in Python. Most events consist of the few models below, with values of
just the expected types: these are read here. pydantic validates an event with anything else, such as a file, an unknown
field, or a number in place of a text.
"""

from __future__ import annotations

import types as builtin_types
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import from_json

from runtime import types
from runtime._pydantic_models import (
    dict_for_copies,
    new_object,
    set_extra,
    set_given,
    set_private,
    set_values,
)
from runtime.events.event import Event
from runtime.events.event_actions import EventActions

Reader = Callable[[Any], Any]
Model = TypeVar("Model", bound=BaseModel)

_PLAIN_MODELS: set[type[BaseModel]] = {
    Event,
    EventActions,
    types.Content,
    types.Part,
    types.FunctionCall,
    types.FunctionResponse,
    types.GenerateContentResponseUsageMetadata,
    types.ModalityTokenCount,
}
"""Models whose validators change nothing in JSON that these models have written.

`tests/unit/runtime/events/test_reading.py` fails when a version of google-genai gives them another validator.
"""


MAX_SHAPES = 500
"""Combinations of fields that are remembered for each model; stored events have a few dozen."""


class _NotPlainError(ValueError):
    """Raised for JSON that pydantic has to validate."""


def read_event(body: str) -> Event:
    """Return the event of its JSON, as `Event.model_validate_json` does.

    Raises:
        pydantic.ValidationError: the JSON is no event.
    """
    try:
        return _read_plain_event(from_json(body))
    except (ValueError, LookupError, TypeError, OverflowError):
        return Event.model_validate_json(body)


# Plain tuples: Python unpacks a named tuple several times as slowly.
_Field = tuple[str, type | None, Reader]
"""Name of a field, the type whose values stay as they are, and the reader of all other values."""
_Shape = tuple[list[_Field], set[str], list[tuple[str, Callable[[], Any]]]]
"""For a model and keys in its JSON: their fields, the names of these, and the fields whose default is made anew."""


def _reader_of_model(model: type[Model]) -> Callable[[Any], Model]:
    """Return the reader of a model's JSON; it builds the object as `model_construct` does."""
    fields: dict[str | None, _Field] = {
        field.alias: (name, *_reader_of(field.annotation)) for name, field in model.model_fields.items()
    }
    defaults = dict_for_copies({name: field.default for name, field in model.model_fields.items()})
    private = {name: attribute.get_default() for name, attribute in model.__private_attributes__.items()}

    @lru_cache(MAX_SHAPES)
    def shape_of(*keys: str) -> _Shape:
        given = [fields[key] for key in keys]
        names = {name for name, _kind, _read in given}
        factories = {name: field.default_factory for name, field in model.model_fields.items()}
        missing = [(name, make) for name, make in factories.items() if make and name not in names]
        return given, names, missing  # type: ignore[return-value]  # no factory takes the validated data

    def read(values: Any) -> Model:
        if type(values) is not dict:
            raise _NotPlainError
        given, names, missing = shape_of(*values)
        attributes = defaults.copy()
        for (name, kind, read_value), value in zip(given, values.values(), strict=False):
            attributes[name] = value if type(value) is kind else read_value(value)
        for name, make_default in missing:
            attributes[name] = make_default()
        made = new_object(model)
        set_values(made, attributes)
        set_given(made, names.copy())
        set_extra(made, None)
        set_private(made, private.copy() if private else None)
        return made

    return read


def _reader_of(annotation: Any) -> tuple[type | None, Reader]:
    """Return the type whose values stay as they are, and the reader of all other values."""
    origin = get_origin(annotation)
    args = get_args(annotation)
    if origin in (Union, builtin_types.UnionType):
        kinds = [kind for kind in args if kind is not builtin_types.NoneType]
        return _reader_of(kinds[0]) if len(kinds) == 1 else (None, _refuse)
    if annotation is Any:
        return None, _unchanged
    if annotation in (str, bool, int) or (origin is dict and args == (str, Any)):
        return origin or annotation, _refuse
    if annotation is float:
        return float, _read_float
    if annotation is bytes:
        return None, _read_bytes
    if origin in (list, set):
        return None, _reader_of_items(origin, *_reader_of(args[0]))
    if origin is dict:
        return None, _reader_of_entries(*_reader_of(args[1]))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return None, {member.value: member for member in annotation}.__getitem__
    return None, _reader_of_model(annotation) if annotation in _PLAIN_MODELS else _refuse


def _reader_of_items(made: type, kind: type | None, read_item: Reader) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not list:
            raise _NotPlainError
        return made([item if type(item) is kind else read_item(item) for item in value])

    return read


def _reader_of_entries(kind: type | None, read_item: Reader) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _NotPlainError
        return value and {key: item if type(item) is kind else read_item(item) for key, item in value.items()}

    return read


def _read_float(value: Any) -> float:
    if type(value) is not int:
        raise _NotPlainError
    return float(value)


def _read_bytes(value: Any) -> bytes:
    data = urlsafe_b64decode(value)
    if urlsafe_b64encode(data).decode() != value:
        raise _NotPlainError
    return data


def _unchanged(value: Any) -> Any:
    return value


def _refuse(value: Any) -> Any:
    raise _NotPlainError


_read_plain_event = _reader_of_model(Event)
