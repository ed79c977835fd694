"""Read the descriptions of a function and its parameters from a docstring."""

from __future__ import annotations

import inspect
import re

import docstring_parser

_ARGS_SECTION = re.compile(
    r"^(?:Args|Arguments|Parameters):[ \t]*\n(?:[ \t]+.*(?:\n|$)|[ \t]*\n)*+", re.MULTILINE
)


def description_of(docstring: str | None) -> str:
    """Return the docstring without its `Args:` section, which describes the parameters."""
    return _ARGS_SECTION.sub("", inspect.cleandoc(docstring or "")).strip()


def parameter_descriptions(docstring: str | None) -> dict[str, str]:
    """Return the description of each parameter on one line. Understand Google, NumPy and reST styles."""
    params = docstring_parser.parse(docstring or "").params
    return {param.arg_name: " ".join(param.description.split()) for param in params if param.description}
