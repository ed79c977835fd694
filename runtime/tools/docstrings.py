"""What a docstring tells the model: the description of a function and of its parameters."""

from __future__ import annotations

import inspect
import re

import docstring_parser

_ARGS_SECTION = re.compile(
    r"^(?:Args|Arguments|Parameters):[ \t]*\n(?:[ \t]+.*(?:\n|$)|[ \t]*\n)*", re.MULTILINE
)


def description_of(docstring: str | None) -> str:
    """The docstring without its `Args:` section, whose texts go to the parameters."""
    return _ARGS_SECTION.sub("", inspect.cleandoc(docstring or "")).strip()


def parameter_descriptions(docstring: str | None) -> dict[str, str]:
    """The description of each parameter, in Google, NumPy or reST style, each on one line."""
    params = docstring_parser.parse(docstring or "").params
    return {param.arg_name: " ".join(param.description.split()) for param in params if param.description}
