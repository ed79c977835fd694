"""Rules of the packages beyond their import order, which `lint-imports` checks by the contracts in pyproject.toml."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("runtime", "sessions_app")

ONLY_OF_SITE = {"axes", "brotli", "psutil", "uvloop", "whitenoise"}
"""Modules of requirements that are no dependencies of the wheel; see `tests/unit/deploy/test_requirements.py`."""


@dataclass(frozen=True)
class Module:
    """A source file with its imports."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    def imports(self) -> Iterator[str]:
        """Yield the dotted names, `from x import y` as `x.y`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from (f"{self._origin(node)}.{alias.name}" for alias in node.names)

    def _origin(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        base = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*base, node.module] if node.module else base)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@lru_cache(maxsize=1)
def modules() -> dict[str, Module]:
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" in path.parts:
                continue
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = Module(name, path, parsed(path))
    return found


def test_the_wheel_depends_on_all_that_its_packages_import() -> None:
    missing = [
        f"{module.name} imports {name}"
        for module in modules().values()
        for name in module.imports()
        if name.split(".")[0] in ONLY_OF_SITE
    ]
    assert missing == []


def test_the_engine_constructs_events_in_one_place() -> None:
    """`build_events` makes them, and `seal` makes those that record a cancellation."""
    makers = {
        name.rpartition(".")[2]
        for name, module in modules().items()
        if name.startswith("runtime.engine.")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Event", "Event.model_construct")
    }
    assert makers <= {"build_events", "seal"}
    assert "build_events" in makers


def test_only_one_module_imports_the_content_types() -> None:
    """`runtime/types.py` re-exports them; only the Gemini client imports the rest of google-genai."""
    importers = {
        name
        for name, module in modules().items()
        if any(imported.startswith("google.genai.types") for imported in module.imports())
    }
    assert importers == {"runtime.types"}


def test_coroutines_query_the_orm_through_in_thread_only() -> None:
    """Django's own asynchronous queries keep a connection that nobody replaces when PostgreSQL restarts."""
    queries = (
        "get first last exists count create update delete save aggregate in_bulk get_or_create bulk_create"
    )
    bypassing = {f"a{name}" for name in [*queries.split(), "iterator", "refresh_from_db", "update_or_create"]}
    found = [
        f"{module.name} calls {node.attr}"
        for module in modules().values()
        if module.name.startswith("sessions_app.")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr in bypassing
    ]
    assert found == []


def test_a_line_of_the_log_that_names_an_id_has_it_as_a_field() -> None:
    """An operator finds the failures of a session, invocation, job or task by `session_id` and the like."""
    names_an_id = re.compile(r"\b(?:session|invocation|job|task) %[sr]", re.IGNORECASE)
    without = [
        f"{module.name}:{node.lineno} {ast.unparse(node)}"
        for module in modules().values()
        if module.name.startswith("sessions_app.")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).startswith("logger.")
        and names_an_id.search(ast.unparse(node.args[0]))
        and "extra" not in {keyword.arg for keyword in node.keywords}
    ]
    assert without == []


def test_a_source_that_is_cited_is_in_the_repository() -> None:
    """The runtime's points are cited as `(contract R1)`; `tests/docs/test_contract.py` checks the numbers."""
    foreign = re.compile(r"\bspec [A-Z]\d|design\.md|\bexamples\.md|\bissue \d", re.IGNORECASE)
    texts = [
        path
        for folder in (*PACKAGES, "adk_site", "tests", "templates", "docs", "deploy")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".js", ".css", ".html", ".md", ".sql"} and path != Path(__file__)
    ]
    cited = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in texts
        if (found := foreign.search(path.read_text()))
    ]
    assert cited == []
