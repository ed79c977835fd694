"""Import hook under which `google.adk` names the modules of `runtime`, for agents that import google-adk.

The modules are the same objects: `google.adk.agents is runtime.agents`, so `isinstance` works across both names.
Other packages below `google`, such as `google.genai`, are found as before.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType

from runtime.errors import ConfigurationError

ALIAS = "google.adk"
PACKAGE = "runtime"


def install(*, replace: bool = False) -> None:
    """Let `google.adk` name the modules of `runtime` in this process; a second call changes nothing.

    Args:
        replace: True to take the place of an installed google-adk.

    Raises:
        ConfigurationError: google-adk is installed, and `replace` is False or it is imported already.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if is_google_adk_installed() and not replace:
        raise ConfigurationError(
            "google-adk is installed, and its modules would be imported in place of this runtime. "
            "Uninstall it, or decide that google.adk is this runtime."
        )
    if ALIAS in sys.modules:
        raise ConfigurationError(
            "google-adk is imported already, and this process keeps it. Import nothing of google.adk before the hook."
        )
    sys.meta_path.insert(0, _Finder())


def is_google_adk_installed() -> bool:
    """True when the environment has a google-adk of its own."""
    namespace = find_spec("google")
    spec = PathFinder.find_spec(ALIAS, namespace.submodule_search_locations) if namespace else None
    return spec is not None and spec.origin is not None


def runtime_name(name: str) -> str | None:
    """Return the name of the module of `runtime` that a name below `google.adk` stands for; None for other names."""
    is_alias = name == ALIAS or name.startswith(f"{ALIAS}.")
    return PACKAGE + name.removeprefix(ALIAS) if is_alias else None


class _Finder(MetaPathFinder):
    """Finds `google.adk` and all below it; leaves all other names to the finders that follow."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        module_name = runtime_name(fullname)
        return ModuleSpec(fullname, _Loader(module_name)) if module_name and find_spec(module_name) else None


class _Loader(Loader):
    """Replaces the empty module that the import system made for the alias by a module of `runtime`."""

    def __init__(self, module_name: str) -> None:
        self._module_name = module_name

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(self._module_name)
