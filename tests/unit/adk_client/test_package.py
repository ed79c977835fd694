"""The client needs httpx and pydantic only."""

from __future__ import annotations

import ast
import sys
import tomllib

from adk_site.embedded.paths import CHECKOUT

PROJECT = CHECKOUT / "clients" / "python"
FILES = {path: ast.parse(path.read_text()) for path in sorted((PROJECT / "adk_client").glob("*.py"))}


def test_the_client_depends_on_what_its_wheel_names() -> None:
    imported = {
        name.split(".")[0]
        for tree in FILES.values()
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    named = {requirement.partition(">=")[0] for requirement in project["dependencies"]}
    assert imported - sys.stdlib_module_names - {"adk_client"} == named == {"httpx", "pydantic"}
