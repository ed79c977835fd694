"""Owners of the tables in docs/owners.md: only an owner has a statement that writes the table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps

ROOT = Path(__file__).parent.parent.parent
SITE = ROOT / "sessions_app"
PAGE = (ROOT / "docs/owners.md").read_text()
ROWS = re.findall(r"^\| (`[A-Z]\w+`(?:, `\w+`)*) \|(.*)\|$", PAGE, re.MULTILINE)


def owners_in(cells: str) -> list[str]:
    """Return the modules and folders that a row of the page names; names of columns are left out."""
    names = re.findall(r"`([a-z][\w/]*)`", cells)
    return [name for name in names if "/" in name or (SITE / f"{name}.py").is_file()]


OWNERS = {name: owners_in(cells) for names, cells in ROWS for name in re.findall(r"\w+", names)}
"""Modules and folders of `sessions_app` by the model whose table they may write."""
MODELS = {model.__name__: model._meta.db_table for model in apps.get_app_config("sessions_app").get_models()}
WRITING = frozenset("create bulk_create get_or_create update_or_create update bulk_update delete".split())
NO_OWNERS = ("migrations/", "models/", "management/sample_data")
"""Folders and files beside the running site; managers of models write for their callers, as `record` does."""


def sql_writes(source: str) -> Iterator[str]:
    """Yield the models whose tables an SQL statement of the source writes."""
    tables = {table: name for name, table in MODELS.items()}
    for table in re.findall(r"\b(?:INSERT INTO|UPDATE|DELETE FROM) (sessions_app_\w+)", source):
        yield tables[table]
    yield from re.findall(r"\b(?:INSERT INTO|UPDATE|DELETE FROM) \{(\w+)\._meta\.db_table\}", source)


def orm_writes(source: str) -> Iterator[str]:
    """Yield the models of calls such as `Model.objects.filter(…).update(…)`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITING:
            inner: ast.expr = node.func.value
            while isinstance(inner, ast.Attribute | ast.Call):
                name = inner.attr if isinstance(inner, ast.Attribute) else ""
                inner = inner.value if isinstance(inner, ast.Attribute) else inner.func
                if name in MODELS:
                    yield name
            if isinstance(inner, ast.Name) and inner.id in MODELS:
                yield inner.id


def writes() -> Iterator[tuple[str, str]]:
    """Yield module and model of each write."""
    for path in sorted([*SITE.rglob("*.py"), *SITE.rglob("*.sql")]):
        module = str(path.relative_to(SITE).with_suffix(""))
        if not module.startswith(NO_OWNERS):
            source = path.read_text()
            found = {*sql_writes(source), *(orm_writes(source) if path.suffix == ".py" else ())}
            yield from ((module, model) for model in sorted(found))


def test_each_table_has_owners_on_the_page() -> None:
    assert OWNERS.keys() == MODELS.keys()


def test_a_table_is_written_by_its_owners_only() -> None:
    foreign = [
        f"{module} writes {model}"
        for module, model in writes()
        if not any(
            module == owner or (owner.endswith("/") and module.startswith(owner)) for owner in OWNERS[model]
        )
    ]
    assert foreign == []


@pytest.mark.parametrize("owner", sorted({owner for owners in OWNERS.values() for owner in owners}))
def test_an_owner_is_a_module_or_a_folder(owner: str) -> None:
    assert (SITE / owner).is_dir() if owner.endswith("/") else (SITE / f"{owner}.py").is_file()
