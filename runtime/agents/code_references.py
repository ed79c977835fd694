"""Import Python objects by full name, for YAML files.

Objects named in a file become tools and callbacks, so a model may call them. Names that lead to functions such as
`os.system` are refused, even if an allowed module re-exports the function.
"""

import sys
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, get_origin

from runtime.errors import ConfigurationError

REFUSED = frozenset(sys.stdlib_module_names) | {"yaml"}
"""Packages with functions that execute their arguments, such as `os.system`. A model could call them."""

_SCHEMA_PACKAGES = frozenset({"builtins", "collections", "types", "typing"})
"""Packages of generic types that describe values, such as `list[int]`. Calling such a type executes nothing."""


def resolve_fully_qualified_name(name: str) -> Any:
    """Import the module of `module.object` and return the object.

    Raises:
        ConfigurationError: the name has no module, the module cannot be imported or lacks the object, or the name or
            the definition of the object is in a refused package.
    """
    module_name, _, attribute = name.rpartition(".")
    if not module_name:
        raise ConfigurationError(
            f"{name!r} has no module. Write the full name, such as `my_package.my_module.{name}`."
        )
    # Before the import, which already executes code of the module.
    _check_package(name, module_name)
    try:
        module = import_module(module_name)
        found = getattr(module, attribute)
    except Exception as error:  # The module's own code has run, and may raise anything.
        raise ConfigurationError(f"{name!r} cannot be imported: {_reason(error)}.") from error
    # An allowed module may re-export an object of a refused package.
    for owner in (module.__name__, *_owners(found)):
        _check_package(name, owner)
    return found


def _check_package(name: str, owner: str) -> None:
    package = owner.partition(".")[0]
    if package in REFUSED:
        raise ConfigurationError(
            f"{name!r} is not allowed: files do not refer to {package!r}. Name an object of your own package."
        )


def _owners(found: Any) -> list[str]:
    """Return the modules that define a module, a class or a callable; an empty list for other values."""
    if isinstance(found, ModuleType):
        return [found.__name__]
    if isinstance(found, partial):
        return _owners(found.func)
    origin = get_origin(found)
    if origin is not None:
        # `Popen[bytes]` can be called like `Popen`; types such as `list[int]` only describe a schema.
        return [owner for owner in _owners(origin) if owner.partition(".")[0] not in _SCHEMA_PACKAGES]
    owner = getattr(found, "__module__", None)
    return [owner] if owner and callable(found) else []


def _reason(error: Exception) -> str:
    is_plain = isinstance(error, ImportError | AttributeError)
    return str(error) if is_plain else f"{type(error).__name__}: {error}"
