"""Construction and copies of pydantic models without validation, several times as fast as pydantic's methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)

_set_attribute = object.__setattr__


class _Defaults(NamedTuple):
    """Defaults of a model's fields."""

    values: Mapping[str, Any]
    factories: Mapping[str, Callable[[], Any]]


_defaults: dict[type[BaseModel], _Defaults] = {}


def construct(model: type[Model], /, **values: Any) -> Model:
    """Return what `model.model_construct(**values)` returns, for a model whose defaults cannot be changed.

    Args:
        model: class without private attributes.
        values: values by the names of their fields.
    """
    defaults = _defaults.get(model) or _note_defaults(model)
    attributes = {**defaults.values, **values}
    for name, make in defaults.factories.items():
        if name not in values:
            attributes[name] = make()
    made = model.__new__(model)
    _set_attribute(made, "__dict__", attributes)
    _set_attribute(made, "__pydantic_fields_set__", set(values))
    _set_attribute(made, "__pydantic_extra__", None)
    _set_attribute(made, "__pydantic_private__", None)
    return made


def copy_with(model: Model, /, **changes: Any) -> Model:
    """Return what `model.model_copy(update=changes)` returns."""
    kind = type(model)
    extra, private = model.__pydantic_extra__, model.__pydantic_private__
    copied = kind.__new__(kind)
    _set_attribute(copied, "__dict__", {**model.__dict__, **changes})
    _set_attribute(copied, "__pydantic_fields_set__", model.__pydantic_fields_set__.union(changes))
    _set_attribute(copied, "__pydantic_extra__", None if extra is None else extra.copy())
    _set_attribute(copied, "__pydantic_private__", None if private is None else private.copy())
    return copied


def _note_defaults(model: type[BaseModel]) -> _Defaults:
    fields = model.model_fields.items()
    _defaults[model] = _Defaults(
        {name: field.default for name, field in fields},
        {name: field.default_factory for name, field in fields if field.default_factory},  # type: ignore[misc]
    )
    return _defaults[model]
