"""Deep copies of events and contents, several times as fast as `copy.deepcopy`."""

from __future__ import annotations

import copy
from types import NoneType
from typing import Any, TypeVar

from pydantic import BaseModel

from runtime._pydantic_models import assemble

T = TypeVar("T")

_UNCHANGEABLE = frozenset({NoneType, bool, int, float, str, bytes})


def deep_copy(value: T) -> T:
    """Return a copy that shares no changeable object with the value. An object that occurs twice is copied twice."""
    copied: T = _deep_copy_of(value)
    return copied


def _deep_copy_of(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {
            key: item if type(item) in _UNCHANGEABLE else _deep_copy_of(item) for key, item in value.items()
        }
    if kind is list:
        return [_deep_copy_of(item) for item in value]
    if kind in _UNCHANGEABLE:
        return value
    if not isinstance(value, BaseModel) or _has_copy_of_its_own(value):
        return copy.deepcopy(value)
    attributes = value.__dict__.copy()
    for name, attribute in attributes.items():
        if attribute is not None and type(attribute) not in _UNCHANGEABLE:
            attributes[name] = _deep_copy_of(attribute)
    return assemble(type(value), attributes, value.__pydantic_fields_set__.copy())


def _has_copy_of_its_own(model: BaseModel) -> bool:
    own_method = type(model).__deepcopy__ is not BaseModel.__deepcopy__
    return own_method or model.__pydantic_extra__ is not None or model.__pydantic_private__ is not None
