"""Import hook that provides the modules of `runtime` as `google.adk`, for agents that import google-adk.

The modules are the same objects: `google.adk.agents is runtime.agents`, so `isinstance` works across both names. A
finder at the front of `sys.meta_path` answers for `google.adk` and all names below it. Python creates an empty module
from the finder's spec; the loader replaces it in `sys.modules` by the module of `runtime`, which Python then returns.
"""

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
    """Provide the modules of `runtime` as `google.adk` in this process; a second call changes nothing.

    Args:
        replace: True to hide an installed google-adk.

    Raises:
        ConfigurationError: google-adk is installed and `replace` is False, or google-adk is already imported.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if is_google_adk_installed() and not replace:
        raise ConfigurationError(
            "google-adk is installed, and its modules would be imported in place of this runtime. "
            "Uninstall it, or decide that google.adk is this runtime."
        )
    # Modules that have been imported already would stay google-adk's.
    if ALIAS in sys.modules:
        raise ConfigurationError(
            "google-adk is imported already, and this process keeps it. Import nothing of google.adk before the hook."
        )
    sys.meta_path.insert(0, _Finder())


def is_google_adk_installed() -> bool:
    """Return True if google-adk itself is installed in the environment."""
    namespace = find_spec("google")
    # PathFinder, because `find_spec` would ask our own finder, too.
    spec = PathFinder.find_spec(ALIAS, namespace.submodule_search_locations) if namespace else None
    # A namespace package has no origin: a folder without a module is no google-adk.
    return spec is not None and spec.origin is not None


def runtime_name(name: str) -> str | None:
    """Return the name in `runtime` for a name below `google.adk`; None for other names."""
    is_alias = name == ALIAS or name.startswith(f"{ALIAS}.")
    return PACKAGE + name.removeprefix(ALIAS) if is_alias else None


class _Finder(MetaPathFinder):
    """Find `google.adk` and all names below it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        module_name = runtime_name(fullname)
        if module_name and find_spec(module_name):
            return ModuleSpec(fullname, _Loader(module_name))
        return None


class _Loader(Loader):
    """Replace the empty module that the import system created by a module of `runtime`."""

    def __init__(self, module_name: str) -> None:
        self._module_name = module_name

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(self._module_name)
