"""List of google-adk's public names: its modules are parsed, and packages imported for the names that they load late.

Run by the Python of an environment with google-adk:

    path/to/python tests/adk_api/list_names.py > tests/adk_api/names.txt
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

ADK = "google.adk"
TYPE_VARIABLES = {"T", "logger", "SelfTool", "SelfToolset", "TBaseAgentConfig"}


def main() -> None:
    """Print a line for each module: its name without `google.adk.`, and its public names."""
    spec = find_spec(ADK)
    assert spec and spec.submodule_search_locations
    root = Path(spec.submodule_search_locations[0])
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        names = set(_names_in(path))
        if path.name == "__init__.py" and names:
            names |= set(_late_names(f"{ADK}.{module}".rstrip(".")))
        public = sorted(name for name in names - TYPE_VARIABLES if not name.startswith("_"))
        if public and not any(part.startswith("_") for part in module.split(".")):
            print(f"{module or '.'}: {' '.join(public)}")


def _names_in(path: Path) -> Iterator[str]:
    """Yield the names of `__all__`, else those that the module defines or re-exports."""
    body = ast.parse(path.read_text()).body
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            if isinstance(node.value, ast.List | ast.Tuple):
                yield from (str(ast.literal_eval(name)) for name in node.value.elts)
                return
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names if alias.asname == alias.name)


def _late_names(package: str) -> Iterator[str]:
    """Yield the names that a package offers and imports when they are asked for."""
    try:
        module = import_module(package)
    except ImportError:
        return
    for name in dir(module):
        if name not in vars(module) or getattr(vars(module)[name], "__module__", "").startswith(ADK):
            if not isinstance(vars(module).get(name), ModuleType):
                yield name


if __name__ == "__main__":
    main()
