"""Reading of the lists of names and reasons, and of `runtime`'s modules."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path


def read_reasons(path: Path) -> dict[str, str]:
    """Return the reason of each name in a file: a line with the reason, then indented lines with the names."""
    found, reason = {}, ""
    for line in path.read_text().splitlines():
        if line.startswith("  "):
            found.update(dict.fromkeys(line.split(), reason))
        elif not line.startswith("#"):
            reason = line.rstrip(":")
    return found


def import_or_none(name: str) -> object | None:
    """Return the module; None when there is none."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name + ".").startswith(f"{error.name}."):
            return None
        raise
