"""Shape of the client: it needs httpx and pydantic only, and its files and functions are short."""

from __future__ import annotations

import ast
import sys
import tomllib

from adk_site.embedded.paths import CHECKOUT
from tests.test_architecture import MAX_FILE_LINES, MAX_FUNCTION_LINES

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


def test_files_and_functions_are_short() -> None:
    functions = [
        node
        for tree in FILES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert [path.name for path in FILES if len(path.read_text().splitlines()) > MAX_FILE_LINES] == []
    assert [
        node.name for node in functions if (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES
    ] == []
