"""List of the constructor parameters and public members of google-adk's public classes.

Run by the Python of an environment with google-adk and its optional packages:

    path/to/python tests/adk_api/list_members.py > tests/adk_api/members.txt
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from pydantic import BaseModel

ADK = "google.adk"
NAMES = Path(__file__).parent / "names.txt"


def main() -> None:
    """Print a line for each class: its module without `google.adk.`, its name, parameters, a bar and other members."""
    logging.disable()
    for module, name, found in _classes():
        parameters = set(_parameters(found))
        inherited = {*dir(BaseModel), *parameters}
        members = sorted(member for member in dir(found) if member[0] != "_" and member not in inherited)
        print(f"{module}:{name}:", *sorted(parameters), "|", *members)


def _classes() -> Iterator[tuple[str, str, type]]:
    """Yield each class once, under the first module of the list that has it."""
    known: set[type] = set()
    for line in NAMES.read_text().splitlines():
        module, _, names = line.partition(": ")
        if module == ".":
            continue
        for name in names.split():
            try:
                found = getattr(import_module(f"{ADK}.{module}"), name, None)
            except ImportError:  # an optional package is missing
                continue
            if isinstance(found, type) and found not in known:
                known.add(found)
                yield module, name, found


def _parameters(found: type) -> Iterator[str]:
    if issubclass(found, BaseModel):
        yield from found.model_fields
        return
    try:
        parameters = inspect.signature(found).parameters
    except (TypeError, ValueError):
        return
    yield from (name for name, parameter in parameters.items() if parameter.kind != parameter.VAR_POSITIONAL)


if __name__ == "__main__":
    main()
