"""List of the operations of `/api/v1/` in docs/api.md, made from the OpenAPI document. Run it as a module."""

from __future__ import annotations

import os
import re
from itertools import groupby
from typing import Any

import django

from adk_site.embedded.paths import CHECKOUT

PAGE = CHECKOUT / "docs" / "api.md"
LIST = re.compile(r"(?<=<!-- operations -->\n).*?(?=<!-- end of operations -->)", re.DOTALL)
METHODS = ("get", "post", "put", "patch", "delete", "head", "options")


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    """Method, address and description of each operation, those of one subject together."""
    from sessions_app.api.site_api import site_api

    paths: dict[str, dict[str, Any]] = site_api.get_openapi_schema()["paths"]
    found = [
        (method.upper(), path, item)
        for path, items in paths.items()
        for method, item in items.items()
        if method in METHODS
    ]
    tags = list(dict.fromkeys(item["tags"][0] for _, _, item in found))
    return sorted(found, key=lambda one: tags.index(one[2]["tags"][0]))


def listed() -> str:
    """The list as the page has it."""
    tables = []
    for tag, group in groupby(operations(), key=lambda one: str(one[2]["tags"][0])):
        rows = [f"| `{method} {path}` | {_first_sentence(item)} |\n" for method, path, item in group]
        tables.append(f"\n| {tag} | |\n|---|---|\n{''.join(rows)}")
    return "".join(tables) + "\n"


def _first_sentence(item: dict[str, Any]) -> str:
    text = " ".join((item.get("description") or item.get("summary") or "").split())
    return re.split(r"(?<=[.:;]) ", text)[0].rstrip(".:;").replace("|", "\\|")


if __name__ == "__main__":
    os.environ.setdefault("ADK_DEV", "1")
    django.setup()
    PAGE.write_text(LIST.sub(lambda _: listed(), PAGE.read_text()))
