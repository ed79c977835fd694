"""Names of tools and arguments for models, in snake_case and with the suffixes of google-adk."""

import keyword
import re
from collections.abc import Iterable

MAX_TOOL_NAME_LENGTH = 60

_ACRONYM_END = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])")
_WORD_START = re.compile(r"([a-z0-9])([A-Z])")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")


def snake_case(text: str) -> str:
    """Return the text in lower case, with only ASCII letters and digits and with underscores between words."""
    separated = _SEPARATORS.sub("_", text)
    words = _ACRONYM_END.sub("_", _WORD_START.sub(r"\1_\2", separated))
    return re.sub("_+", "_", words).strip("_").lower()


def tool_name(operation_id: str, path: str, method: str) -> str:
    """Return the tool name for an operation: from its id, or else from its path and method."""
    name = snake_case(operation_id) or snake_case(f"{path}_{method}")
    if name[0].isdigit():  # Models refuse such function names.
        name = f"_{name}"
    return name[:MAX_TOOL_NAME_LENGTH].rstrip("_")


def argument_name(original: str, location: str) -> str:
    name = snake_case(original) or ("body" if location == "body" else f"{location}_param")
    return f"param_{name}" if keyword.iskeyword(name) else name


def unique_tool_names(names: Iterable[str]) -> list[str]:
    """Return the names in order, with `_2`, `_3` and so on appended to repeated names."""
    given = list(names)
    taken = set(given)
    unique: list[str] = []
    used: set[str] = set()
    numbers: dict[str, int] = {}
    for base in given:
        name = base
        number = numbers.get(base, 1)
        # A name with a suffix must not take the name of another operation.
        while name in used or (number > 1 and name in taken):
            number += 1
            suffix = f"_{number}"
            name = base[: MAX_TOOL_NAME_LENGTH - len(suffix)] + suffix
        numbers[base] = number
        used.add(name)
        unique.append(name)
    return unique


def unique_argument_names(names: Iterable[str]) -> list[str]:
    """Return the names in order, with `_0`, `_1` and so on appended to repeated names."""
    unique: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for base in names:
        name = base
        number = numbers.get(base, -1)
        while name in unique:
            number += 1
            name = f"{base}_{number}"
        numbers[base] = number
        unique[name] = None
    return list(unique)
