"""Read events from JSON, at a fraction of the cost of validation.

google-genai validates contents, parts and calls in Python. Most events consist of the few models below, with values of
exactly the expected types. This module reads these events without validation. Any other event (with a file, an unknown
field, or a number in place of a text, for example) makes a reader raise, and pydantic validates the whole event.
"""

import types as builtin_types
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from enum import Enum
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import from_json

from runtime import types
from runtime._pydantic_models import construct
from runtime.events.event import Event
from runtime.events.event_actions import EventActions
from runtime.events.node_info import NodeInfo

Reader = Callable[[Any], Any]
"""Function from a JSON value to an object. Raises `_NotPlainError` or `LookupError` if pydantic has to read it."""

_PLAIN_MODELS: set[type[BaseModel]] = {
    Event,
    EventActions,
    NodeInfo,
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


class _NotPlainError(ValueError):
    """Raised for JSON to be validated by pydantic."""


def read_event(body: str) -> Event:
    """Return the event from its JSON, equal to the result of `Event.model_validate_json`.

    Raises:
        pydantic.ValidationError: the JSON is not an event.
    """
    try:
        event: Event = _read_plain_event(from_json(body))
    except (ValueError, LookupError, TypeError, OverflowError):
        event = Event.model_validate_json(body)
    return event


def _reader_of_model(model: type[BaseModel]) -> Reader:
    """Return a reader for the model, which builds the object as `model_construct` does."""
    fields = {field.alias: (name, _reader_of(field.annotation)) for name, field in model.model_fields.items()}

    def read(values: Any) -> BaseModel:
        if type(values) is not dict:
            raise _NotPlainError
        attributes = {}
        for key, value in values.items():
            name, read_value = fields[key]
            attributes[name] = read_value(value)
        return construct(model, **attributes)

    return read


def _reader_of(annotation: Any) -> Reader:
    origin = get_origin(annotation)
    args = get_args(annotation)
    if origin in (Union, builtin_types.UnionType):
        kinds = [kind for kind in args if kind is not builtin_types.NoneType]
        return _reader_of(kinds[0]) if len(kinds) == 1 else _refuse
    if annotation is Any:
        return _unchanged
    if annotation in (str, bool, int):
        return _reader_of_type(annotation)
    if annotation is float:
        return _read_float
    if annotation is bytes:
        return _read_bytes
    if origin in (list, set):
        return _reader_of_items(origin, _reader_of(args[0]))
    if origin is dict:
        return _reader_of_entries(_reader_of(args[1]))
    if annotation in _PLAIN_MODELS:
        return _reader_of_model(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return {member.value: member for member in annotation}.__getitem__
    return _refuse


def _reader_of_type(kind: type) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise _NotPlainError
        return value

    return read


def _reader_of_items(collection: type, read_item: Reader) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not list:
            raise _NotPlainError
        return collection([read_item(item) for item in value])

    return read


def _reader_of_entries(read_value: Reader) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _NotPlainError
        return {key: read_value(item) for key, item in value.items()}

    return read


def _read_float(value: Any) -> float:
    if type(value) not in (int, float):
        raise _NotPlainError
    return float(value)


def _read_bytes(value: Any) -> bytes:
    data = urlsafe_b64decode(value)
    # Base64 decoding skips invalid characters; pydantic refuses them.
    if urlsafe_b64encode(data).decode() != value:
        raise _NotPlainError
    return data


def _unchanged(value: Any) -> Any:
    return value


def _refuse(value: Any) -> Any:
    raise _NotPlainError


_read_plain_event = _reader_of_model(Event)
