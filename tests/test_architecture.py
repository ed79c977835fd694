"""Shape of the packages: import order, sizes of files and functions, prose of docstrings.

Imports under `TYPE_CHECKING` count like all others.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("runtime", "sessions_app")
EVERYWHERE = (*PACKAGES, "adk_site", "clients", "tests")
MAX_FUNCTION_LINES = 52
MAX_FILE_LINES = 400

RUNTIME_ORDER = (
    "types",
    "errors",
    "google_adk",
    "_pydantic_models",
    "_copies",
    "_platform",
    "_write_scope",
    "_tasks",
    "callbacks",
    "http_logs",
    "cli",
    "models",
    "auth",
    "events",
    "run_config",
    "sessions",
    "artifacts",
    "memory",
    "invocation_scope",
    "context",
    "utils",
    "examples",
    "code_executors",
    "planners",
    "tools",
    "integrations",
    "engine",
    "a2a",
    "agents",
    "plugins",
    "apps",
    "runners",
    "evaluation",
    "testing",
)
SESSIONS_APP_ORDER = (
    "errors",
    "error_codes",
    "client_ids",
    "statuses",
    "actors",
    "conf",
    "client_address",
    "event_wait",
    "loop_local",
    "process_metrics",
    "thread_pools",
    "limits",
    "agent_loading",
    "agent_registry",
    "agent_reload",
    "toolset_use",
    "codec",
    "masking",
    "json_logs",
    "credential_encryption",
    "error_detail",
    "timing",
    "db",
    "models",
    "sweeping",
    "celery_dispatch",
    "system_checks",
    "apps",
    "ownership",
    "services",
    "feedback",
    "sharing",
    "keys",
    "webhooks",
    "languages",
    "sentences",
    "history",
    "figures",
    "telemetry",
    "session_list",
    "rendering",
    "answer_requests",
    "live",
    "jobs",
    "scheduling",
    "invocations",
    "data_protection",
    "transcripts",
    "evaluation",
    "admin",
    "templatetags",
    "shutdown",
    "serving",
    "programs",
    "use_cases",
    "management",
    "chat",
    "api",
    "a2a",
    "tasks",
    "routing",
    "urls",
)
ORDERS = {"runtime": RUNTIME_ORDER, "sessions_app": SESSIONS_APP_ORDER}
"""A module imports from entries before its own, and from its own entry."""

ONLY_OF_SITE = {"axes", "psutil", "uvloop", "whitenoise"}
"""Modules of the packages that `only-of-site` in pyproject.toml leaves out of the wheel's dependencies."""

FOREIGN_TO_RUNTIME = {"django", "channels", "celery", "psycopg", "asgiref", "sessions_app", "adk_site"}


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


def module_of(name: str) -> str | None:
    """Return our module that an imported name comes from; None for a third-party name."""
    while name and name not in modules():
        name = name.rpartition(".")[0]
    return name or None


def edges(module: Module) -> set[str]:
    """Return our modules that this module imports from, parent packages left out."""
    origins = {module_of(name) for name in module.imports()}
    return {origin for origin in origins if origin and origin != module.name}


def entry_of(module_name: str) -> str:
    """Return the entry of the package's order that a module belongs to."""
    return module_name.split(".")[1]


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules of an import circle, the first repeated at the end; empty when there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_the_runtime_knows_neither_django_nor_channels_nor_celery() -> None:
    foreign = [
        f"{module.name} imports {name}"
        for module in modules().values()
        if module.name.split(".")[0] == "runtime"
        for name in module.imports()
        if name.split(".")[0] in FOREIGN_TO_RUNTIME
    ]
    assert foreign == []


def test_the_wheel_depends_on_all_that_its_packages_import() -> None:
    missing = [
        f"{module.name} imports {name}"
        for module in modules().values()
        for name in module.imports()
        if name.split(".")[0] in ONLY_OF_SITE
    ]
    assert missing == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_entry_of_a_package_has_a_place_in_the_order(package: str) -> None:
    entries = {entry_of(name) for name in modules() if name.startswith(f"{package}.")}
    assert entries == set(ORDERS[package])


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_downwards_only(package: str) -> None:
    place = {entry: index for index, entry in enumerate(ORDERS[package])}
    upward = [
        f"{name} imports {origin}"
        for name, module in modules().items()
        if name.startswith(f"{package}.")
        for origin in edges(module)
        if origin.startswith(f"{package}.") and place[entry_of(origin)] > place[entry_of(name)]
    ]
    assert upward == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_import_each_other_in_a_circle(package: str) -> None:
    graph = {name: edges(module) for name, module in modules().items() if name.split(".")[0] == package}
    assert circle_in(graph) == []


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


def written_files(*suffixes: str) -> Iterator[Path]:
    """Yield the files of these kinds that people write, in tests too."""
    for package in EVERYWHERE:
        for path in sorted((ROOT / package).rglob("*")):
            if path.suffix in suffixes and not {"migrations", "vendor"} & set(path.parts):
                yield path


def test_no_function_is_longer_than_a_page() -> None:
    long = [
        f"{path.relative_to(ROOT)} {node.name}: {lines} lines"
        for path in written_files(".py")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]
    assert long == []


def test_no_file_is_too_long_to_keep_in_mind() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {lines} lines"
        for path in written_files(".py", ".js", ".css")
        if (lines := len(path.read_text().splitlines())) > MAX_FILE_LINES
    ]
    assert long == []


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


QUESTION_WORDS = frozenset("What Whether Who Whoever Whom Those Where Which How That".split())
PARAGRAPH_BEGIN = re.compile(r"\n+ *(?:[-*]|\d+\.) |\n\n")
SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z])")


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of each docstring, and of each text below a constant or a field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    if isinstance(text := statement.value.value, str):
                        yield statement.lineno, text


def comments(source: str, mark: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each comment; the lines of one comment as one text."""
    for found in re.finditer(rf"^ *{mark}.*(?:\n *{mark}.*)*|(?<=  ){mark} .*", source, re.MULTILINE):
        yield source.count("\n", 0, found.start()) + 1, re.sub(rf"(^|\n) *{mark}", " ", found[0])


def prose() -> Iterator[tuple[str, str]]:
    """Yield place and text of all docstrings and comments, in tests too, and of the paragraphs of the documentation."""
    for path in written_files(".py", ".js"):
        source = path.read_text()
        texts = list(comments(source, "#" if path.suffix == ".py" else "//"))
        if path.suffix == ".py":
            texts += docstrings(parsed(path))
        yield from ((f"{path.relative_to(ROOT)}:{line}", text) for line, text in texts)
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        without_code_and_tables = re.sub(r"^```.*?^```|^\|[^\n]*", "", path.read_text(), flags=re.M | re.S)
        yield from ((path.name, text) for text in PARAGRAPH_BEGIN.split(without_code_and_tables))


def sentences(text: str) -> list[str]:
    return SENTENCE_END.split(" ".join(text.split()))


def test_a_sentence_begins_with_a_verb_or_names_its_subject() -> None:
    found = [
        f"{place}: {sentence}"
        for place, text in prose()
        for sentence in sentences(text)
        if sentence.split(" ", 1)[0].strip(",.:;") in QUESTION_WORDS and not sentence.endswith("?")
    ]
    assert found == []


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
