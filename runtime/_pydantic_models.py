"""Build pydantic models without validation, and copy them deeply. No other module uses pydantic's internals.

pydantic's own methods return equal objects, but take several times the CPU:

- `construct` takes 2.5 µs for an event's actions, `model_construct` 50 µs. A turn with a function call makes 27 such
  objects: 0.7 ms of 10 ms. Calling the class takes 4 to 9 µs, but validates every content of a history again.
- `deep_copy` takes 14 µs for an event, `copy.deepcopy` 67 µs. The in-memory service copies an event when it stores it,
  and all events for each reader. Contents are copied for each request with hooks.
- `runtime/events/reading.py` reads a stored event in 14 to 20 µs by `construct`; pydantic's validation takes 24 to
  42 µs. A process pays this for each event that it reads for the first time.
"""

import copy
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)
T = TypeVar("T")

# Setters of attributes that pydantic guards. `object.__setattr__` would look them up by name each time.
_set_values = BaseModel.__dict__["__dict__"].__set__
_set_given = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__
_IMMUTABLE = frozenset({NoneType, bool, int, float, str, bytes})


class _Defaults(NamedTuple):
    """Defaults of a model's fields and of its private attributes."""

    values: dict[str, Any]
    factories: Mapping[str, Callable[[], Any]]
    private: dict[str, Any]


_defaults: dict[type[BaseModel], _Defaults] = {}


def construct(model: type[Model], /, **values: Any) -> Model:
    """Do as `model.model_construct(**values)` does, for a model whose defaults are immutable.

    Args:
        values: field values by field name (not by alias).
    """
    defaults = _defaults.get(model) or _note_defaults(model)
    # A shallow copy is enough because the defaults are immutable; mutable ones come from a factory.
    attributes = defaults.values.copy()
    attributes.update(values)
    for name, make in defaults.factories.items():
        if name not in values:
            attributes[name] = make()
    return _assemble(model, attributes, set(values), defaults.private.copy() or None)


def deep_copy(value: T) -> T:
    """Return a copy without shared mutable objects. Unlike `copy.deepcopy`, copy a repeated object each time."""
    copied: T = _deep_copy_of(value)
    return copied


def _deep_copy_of(value: Any) -> Any:
    kind = type(value)
    # `type(...) is` in place of `isinstance`: subclasses may have more state and go to `copy.deepcopy`.
    if kind is dict:
        return {key: item if type(item) in _IMMUTABLE else _deep_copy_of(item) for key, item in value.items()}
    if kind is list:
        return [_deep_copy_of(item) for item in value]
    if kind in _IMMUTABLE:
        return value
    # `_assemble` gets neither extra fields nor private attributes here, so models with either are copied by Python.
    if not isinstance(value, BaseModel) or _has_own_copy(value):
        return copy.deepcopy(value)
    attributes = value.__dict__.copy()
    for name, attribute in attributes.items():
        if attribute is not None and type(attribute) not in _IMMUTABLE:
            attributes[name] = _deep_copy_of(attribute)
    return _assemble(type(value), attributes, value.__pydantic_fields_set__.copy(), None)


def _has_own_copy(model: BaseModel) -> bool:
    has_method = type(model).__deepcopy__ is not BaseModel.__deepcopy__
    return has_method or model.__pydantic_extra__ is not None or model.__pydantic_private__ is not None


def _assemble(
    model: type[Model], attributes: dict[str, Any], given: set[str], private: dict[str, Any] | None
) -> Model:
    """Return a model object that takes over `attributes`.

    Args:
        given: names for `model_fields_set`.
        private: private attributes; None for a model without any.
    """
    made = object.__new__(model)
    _set_values(made, attributes)
    _set_given(made, given)
    _set_extra(made, None)
    _set_private(made, private)
    return made


def _note_defaults(model: type[BaseModel]) -> _Defaults:
    fields = model.model_fields.items()
    _defaults[model] = _Defaults(
        values={name: field.default for name, field in fields},
        factories={name: field.default_factory for name, field in fields if field.default_factory},  # type: ignore[misc]
        private={name: field.get_default() for name, field in model.__private_attributes__.items()},
    )
    return _defaults[model]
