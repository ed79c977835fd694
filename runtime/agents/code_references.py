"""Python objects by their full name, as YAML files refer to them."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from runtime.errors import ConfigurationError

REFUSED = frozenset(sys.stdlib_module_names) | {"yaml"}
"""Packages with functions that run what they are given, such as `os.system`; a model could call them."""


def resolve_fully_qualified_name(name: str) -> Any:
    """Import the module of `module.object` and return the object.

    Raises:
        ConfigurationError: the name has no module, its module is refused or fails to import, or lacks the object.
    """
    module_name, _, attribute = name.rpartition(".")
    if not module_name:
        raise ConfigurationError(
            f"{name!r} has no module. Write the full name, such as `my_package.my_module.{name}`."
        )
    package = module_name.partition(".")[0]
    if package in REFUSED:
        raise ConfigurationError(
            f"{name!r} is not allowed: YAML files do not refer to {package!r}. Name an object of your own package."
        )
    try:
        return getattr(import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"{name!r} cannot be imported: {error}.") from error
