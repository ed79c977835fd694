"""Contract: what the README and docs/ show runs as it stands, prints what they show, and leads to what exists.

A Python block is a script whose output is the text block that follows, or, when it begins with `# <app>/agents.py` or
`# <app>/test_agents.py`, a part of such a module. `tests/browser/test_embedding.py` writes and runs the files of a
project, which begin with `# mysite/<file>.py`; `tests/docs/test_api.py` runs `# ask_client.py` against a site.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest

from adk_site.embedded.paths import CHECKOUT
from runtime.apps import App
from sessions_app.agent_apps.checks.agents import problems_of

pytest_plugins = ["pytester"]
PAGES = [*sorted(CHECKOUT.glob("*.md")), *sorted((CHECKOUT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(((?!https?:)[^)#]+)")
PATH = re.compile(r"`((?:adk_site|docs|runtime|sessions_app|templates|tests)/[\w/.-]*)`")
AGENTS_PY = re.compile(r"# (\w+)/agents\.py\n")
TESTS_PY = re.compile(r"# (\w+)/test_agents\.py\n")
CLIENT_PY = re.compile(r"# (\w+)_client\.py\n")
PROJECT_PY = re.compile(r"# mysite/(\w+)\.py\n")


def blocks(page: Path) -> Iterator[tuple[str, str | None]]:
    """The Python blocks, each on the lines that it has in the page, with the output that follows."""
    text = page.read_text()
    for found in BLOCK.finditer(text):
        yield "\n" * text.count("\n", 0, found.start(1)) + found[1], found[2]


def is_module(code: str, name: re.Pattern[str]) -> bool:
    return name.match(code.lstrip("\n")) is not None


def name_of(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


WITH_TESTS_PY = [page for page in PAGES if TESTS_PY.search(page.read_text())]
WITH_AGENTS_PY = [page for page in PAGES if AGENTS_PY.search(page.read_text())]
SCRIPTS = [
    pytest.param(page, code, output, id=f"{name_of(page)}-{number}")
    for page in PAGES
    for number, (code, output) in enumerate(blocks(page), 1)
    if not any(is_module(code, name) for name in (AGENTS_PY, TESTS_PY, CLIENT_PY, PROJECT_PY))
]


@pytest.mark.parametrize(("page", "code", "output"), SCRIPTS)
def test_a_script_prints_what_the_page_shows(page: Path, code: str, output: str | None) -> None:
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(code, page, "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == output


@pytest.mark.parametrize("page", WITH_AGENTS_PY, ids=name_of)
def test_the_agents_py_of_a_page_passes_the_check(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "not asked")
    module = ModuleType(f"{page.stem}.agents")
    for code, _ in blocks(page):
        if is_module(code, AGENTS_PY):
            exec(compile(code, page, "exec"), vars(module))
    app = App(name="shown", root_agent=vars(module)["root_agent"])
    assert list(problems_of([(module.__name__, app)])) == []


@pytest.mark.parametrize("page", WITH_TESTS_PY, ids=name_of)
def test_the_tests_of_a_page_pass(page: Path, pytester: pytest.Pytester) -> None:
    package = pytester.mkpydir("shop")
    for name, pattern in (("agents", AGENTS_PY), ("test_agents", TESTS_PY)):
        (code,) = [code for code, _ in blocks(page) if is_module(code, pattern)]
        (package / f"{name}.py").write_text(code)
    # This process has set Django up already.
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    run = pytester.inline_run("-p", "no:django", "-p", "no:cacheprovider", "shop")
    assert run.listoutcomes()[0] and run.ret == 0


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_a_page_names_exist(page: Path) -> None:
    assert [path for path in PATH.findall(page.read_text()) if not (CHECKOUT / path).exists()] == []


def test_the_index_names_every_page() -> None:
    index = CHECKOUT / "docs" / "README.md"
    pages = {page.name for page in PAGES if page.parent == index.parent} - {index.name}
    assert pages == set(LINK.findall(index.read_text()))
