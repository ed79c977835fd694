"""Comparison of google-adk's public names with those of `runtime`, and the page that shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from adk_site.embedded.paths import CHECKOUT
from tests.adk_api.members import absent_members, member_reasons, reason_for_member
from tests.adk_api.reading import import_or_none, read_reasons

LIST = Path(__file__).parent / "names.txt"
REASONS = Path(__file__).parent / "absent.txt"
PAGE = CHECKOUT / "docs" / "adk-api.md"
ROOT = "."

HEAD = """\
# ADK's public API

The public names of google-adk 2.13 that `runtime` has under the same path, and the others with the reason. An agent's
imports work here once `google.adk` is replaced by `runtime`. [Differences from google-adk](adk-differences.md) says
where a name behaves otherwise.

This page is made by `.venv/bin/python -m tests.adk_api`; `tests/docs/test_adk_api.py` fails when it is out of date.
"""


@dataclass(frozen=True)
class Module:
    """Public names of one module of google-adk."""

    name: str
    here: list[str]
    absent: list[str]


@cache
def reasons() -> dict[str, str]:
    """Return the reason of each absent module or name; a name in any module begins with a colon."""
    return read_reasons(REASONS)


def modules() -> list[Module]:
    """Return google-adk's modules, with what `runtime` has of each."""
    found = []
    for line in LIST.read_text().splitlines():
        name, _, names = line.partition(": ")
        ours = import_or_none("runtime" if name == ROOT else f"runtime.{name}")
        here = [public for public in names.split() if ours and hasattr(ours, public)]
        found.append(Module(name, here, [public for public in names.split() if public not in here]))
    return found


def reason_for(module: str, name: str) -> str | None:
    """Return why a name is absent: the reason of the name, else of the module or the nearest one above it."""
    while f":{name}" not in reasons() and module:
        if module in reasons():
            return reasons()[module]
        module = module.rpartition(".")[0]
    return reasons().get(f":{name}")


def page() -> str:
    """Return the text of the page."""
    found = modules()
    return "\n".join([HEAD, *_here(found), "", *_absent(found), "", *_absent_members(), ""])


def _here(found: list[Module]) -> Iterator[str]:
    count = sum(len(module.here) for module in found)
    yield f"## Here\n\n{count} names. The third column has the names that a module lacks.\n"
    yield "| module | names | not here |"
    yield "|---|---|---|"
    for module in found:
        if module.here:
            path = "google.adk" if module.name == ROOT else module.name
            yield f"| `{path}` | {_code(module.here)} | {_code(module.absent)} |"


def _absent(found: list[Module]) -> Iterator[str]:
    yield "## Not here\n\nA module stands for all below it.\n"
    yield "| reason | names | modules and names |"
    yield "|---|---|---|"
    absent = Counter(reason_for(module.name, name) for module in found for name in module.absent)
    for reason in dict.fromkeys(reasons().values()):
        places = [place.lstrip(":") for place, given in reasons().items() if given == reason]
        yield f"| {reason} | {absent[reason]} | {_code(places)} |"


def _code(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _absent_members() -> Iterator[str]:
    yield "## Parameters and members that are not here\n"
    yield "Of the classes above. A class refuses a parameter that it does not have by its name.\n"
    yield "| reason | number | names |"
    yield "|---|---|---|"
    numbers = Counter(reason_for_member(absent) for absent in absent_members())
    for reason in dict.fromkeys(member_reasons().values()):
        places = [place.lstrip(":") for place, given in member_reasons().items() if given == reason]
        yield f"| {reason} | {numbers[reason]} | {_code(places)} |"
