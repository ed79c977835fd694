"""The architecture page and the sources name code that exists; the picture has the layers of the import contracts."""

from __future__ import annotations

import re
import tomllib
from pydoc import locate

import pytest

from adk_site.embedded.paths import CHECKOUT

PAGE = (CHECKOUT / "docs" / "architecture.md").read_text()
SCRIPTS = CHECKOUT / "sessions_app" / "static" / "sessions_app"

JOURNEY = re.compile(r"^## Journey \d: .*?\n(.*?)(?=^## )", re.MULTILINE | re.DOTALL)
HOP = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)
IN_PYTHON = re.compile(r"`((?:adk_site|runtime|sessions_app)(?:\.\w+)+)`")
IN_SCRIPT = re.compile(r"`([\w/]+\.js) (\w+)\.(\w+)`")
IN_SOURCE = re.compile(r"`((?:\w+/)+\w+\.(?:css|html|js|py|sql))`")
ROOMS = (
    "agent_apps|api|base|chat|deploy|history|invocations|jobs|live|models|process|scheduling|sessions|store"
)
PLACE = re.compile(rf"`((?:{ROOMS})/[\w/.]*)`")
BOX = re.compile(r"^\|  sessions_app/ .*\n\| +\|\n((?:\|  .*\n)+)", re.MULTILINE)
ROW = re.compile(r"^\|  +(\d*) +((?:\w+/?  ?)+)", re.MULTILINE)
RUNTIME_BOX = re.compile(r"^\|  runtime/ .*\n\| +\|\n((?:\|  .*\n)+)", re.MULTILINE)

HOPS = [(journey, hop) for journey in JOURNEY.findall(PAGE) for hop in HOP.findall(journey)]


def test_the_hops_are_numbered_in_order() -> None:
    numbers = [[int(number) for number, _ in HOP.findall(journey)] for journey in JOURNEY.findall(PAGE)]
    assert [list(range(1, len(found) + 1)) for found in numbers] == numbers
    assert len(numbers) == 4


@pytest.mark.parametrize("hop", [text for _, (_, text) in HOPS])
def test_a_hop_begins_with_a_function_or_refers_to_the_other_journey(hop: str) -> None:
    begins = IN_PYTHON.match(hop) or IN_SCRIPT.match(hop)
    assert begins or "journey 1" in hop


@pytest.mark.parametrize("name", sorted(set(IN_PYTHON.findall(PAGE))))
def test_a_function_that_the_page_names_can_be_imported(name: str) -> None:
    assert callable(locate(name)), f"docs/architecture.md names {name}, which is not there any more."


@pytest.mark.parametrize(("script", "owner", "method"), sorted(set(IN_SCRIPT.findall(PAGE))))
def test_a_method_that_the_page_names_is_in_its_script(script: str, owner: str, method: str) -> None:
    text = (SCRIPTS / script).read_text()
    _, found, body = text.partition(f"class {owner} ")
    assert found
    assert re.search(rf"^  {method}\(", body, re.MULTILINE)


@pytest.mark.parametrize("place", sorted(set(PLACE.findall(PAGE))))
def test_a_folder_or_file_that_the_page_names_exists(place: str) -> None:
    base = CHECKOUT if place.startswith("deploy/") else CHECKOUT / "sessions_app"
    path = base / place
    assert path.exists() or path.with_suffix(".py").exists()


def test_a_file_that_a_source_names_with_its_folder_exists() -> None:
    missing = []
    for package in ("adk_site", "runtime", "sessions_app"):
        for source in (CHECKOUT / package).rglob("*.py"):
            places = [*source.parents, SCRIPTS]
            for name in IN_SOURCE.findall(source.read_text()):
                if not any((place / name).is_file() for place in places):
                    missing.append((str(source), name))
    assert missing == []


def test_the_picture_has_the_layers_that_imports_are_checked_by() -> None:
    contracts = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(
        contract["layers"] for contract in contracts if contract.get("containers") == ["sessions_app"]
    )
    checked = [set(re.findall(r"\w+", layer)) - {"templatetags", "migrations"} for layer in layers]
    drawn: list[set[str]] = []
    for number, names in ROW.findall(BOX.findall(PAGE)[0]):
        if number:
            drawn.append(set())
        drawn[-1] |= set(re.findall(r"\w+", names))
    assert drawn == checked


def test_the_picture_has_all_packages_of_the_runtime() -> None:
    packages = {path.parent.name for path in (CHECKOUT / "runtime").glob("*/__init__.py")}
    drawn = set(re.findall(r"(\w+)/", RUNTIME_BOX.findall(PAGE)[0]))
    assert drawn == packages
