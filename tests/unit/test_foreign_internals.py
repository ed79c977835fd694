"""Internals of libraries are used in a few modules, whose docstrings say what this prevents or saves."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PLACES = {
    "adk_site/daphne.py",
    "sessions_app/asgi/daphne.py",
    "sessions_app/asgi/origin.py",
    "sessions_app/jobs/forced_end.py",
    "runtime/_pydantic_models.py",
    "runtime/models/lite_client.py",
}
"""Modules with internals of Daphne and Twisted, of Django's CSRF check, Celery's pool, pydantic and LiteLLM."""
DOCUMENTED = {"_asdict", "_replace", "_meta", "_default_manager", "_base_manager", "_exit"}
SERVERS = {"daphne", "twisted", "autobahn"}


@cache
def sources() -> dict[str, ast.Module]:
    """Return the modules by file. Each test process imports this file, and one runs it."""
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text())
        for package in ("adk_site", "sessions_app", "runtime")
        for path in (ROOT / package).rglob("*.py")
    }


def own_names() -> set[str]:
    """Return the names that this repository gives to functions, classes, attributes and variables."""
    names = set()
    for source in sources().values():
        for node in ast.walk(source):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    names.add(name)
                case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()):
                    names.add(name)
    return names


def is_private(name: str) -> bool:
    return name.startswith("__pydantic") or (name.startswith("_") and not name.startswith("__"))


def test_only_a_few_modules_use_private_attributes_of_libraries() -> None:
    own = own_names() | DOCUMENTED
    users = {
        path
        for path, source in sources().items()
        for node in ast.walk(source)
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own
    }
    assert users <= PLACES


def test_only_these_modules_and_the_start_of_the_web_process_import_the_server() -> None:
    importers = set()
    for path, source in sources().items():
        for node in ast.walk(source):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            if any(name.partition(".")[0] in SERVERS for name in names):
                importers.add(path)
    assert importers <= PLACES | {"adk_site/web.py"}
