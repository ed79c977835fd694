"""Python objects by their full name, as YAML files refer to them."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, get_origin

from runtime.errors import ConfigurationError

REFUSED = frozenset(sys.stdlib_module_names) | {"yaml"}
"""Packages with functions that run what they are given, such as `os.system`; a model could call them."""

_SCHEMA_PACKAGES = frozenset({"builtins", "collections", "types", "typing"})
"""Packages of generic types that describe values, such as `list[int]`; a call of such a type runs nothing."""


def resolve_fully_qualified_name(name: str) -> Any:
    """Import the module of `module.object` and return the object.

    Raises:
        ConfigurationError: the name has no module, its module fails to import or lacks the object, or a refused
            package is on the way to the object or defines the object.
    """
    module_name, _, attribute = name.rpartition(".")
    if not module_name:
        raise ConfigurationError(
            f"{name!r} has no module. Write the full name, such as `my_package.my_module.{name}`."
        )
    _check_package(name, module_name)
    try:
        module = import_module(module_name)
        found = getattr(module, attribute)
    except Exception as error:  # The module's own code has run, and may raise anything.
        raise ConfigurationError(f"{name!r} cannot be imported: {_reason(error)}.") from error
    # A name in an allowed package may stand for an object of a refused one.
    for owner in (module.__name__, *_owners(found)):
        _check_package(name, owner)
    return found


def _check_package(name: str, owner: str) -> None:
    package = owner.partition(".")[0]
    if package in REFUSED:
        raise ConfigurationError(
            f"{name!r} is not allowed: YAML files do not refer to {package!r}. Name an object of your own package."
        )


def _owners(found: Any) -> list[str]:
    """Return the modules that define a module, a class or a callable; none for other values.

    A generic type such as `Popen[bytes]` is called like its class. A type that describes a schema has no owner.
    """
    if isinstance(found, ModuleType):
        return [found.__name__]
    if isinstance(found, partial):
        return _owners(found.func)
    origin = get_origin(found)
    if origin is not None:
        return [owner for owner in _owners(origin) if owner.partition(".")[0] not in _SCHEMA_PACKAGES]
    owner = getattr(found, "__module__", None)
    return [owner] if owner and callable(found) else []


def _reason(error: Exception) -> str:
    is_plain = isinstance(error, ImportError | AttributeError)
    return str(error) if is_plain else f"{type(error).__name__}: {error}"
