"""Convert the arguments of a function call to Python values (contract T1, Q2).

Wrong arguments are values and not exceptions: the message goes back to the model, which corrects its call.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from runtime.tools.function_signature import FunctionSignature, Parameter
from runtime.valid_text import shortened

_MAX_VALUE_LENGTH = 80


@dataclass(frozen=True)
class BadArguments:
    """Wrong arguments; the message tells the model how to correct them."""

    message: str


def bind(signature: FunctionSignature, args: Mapping[str, Any]) -> dict[str, Any] | BadArguments:
    """Return a value for every declared parameter: the converted argument, or the default.

    Drop unknown arguments (contract Q2).
    """
    missing = [p.name for p in signature.parameters if p.is_required and p.name not in args]
    if missing:
        return missing_arguments(missing)
    bound: dict[str, Any] = {}
    problems: list[str] = []
    for parameter in signature.parameters:
        try:
            bound[parameter.name] = _convert(parameter, args)
        except ValidationError as error:
            problems += describe_errors(error, parameter.name)
    return bad_values(problems) if problems else bound


def missing_arguments(names: list[str]) -> BadArguments:
    """Return the message to the model about missing arguments."""
    return BadArguments(
        f"Nothing was done: mandatory input parameters are not present: {', '.join(names)}. "
        "Call again with all of them."
    )


def bad_values(problems: list[str]) -> BadArguments:
    """Return the message to the model about wrong values, with one sentence per problem."""
    return BadArguments(f"Nothing was done. {' '.join(problems)} Correct that and call again.")


def describe_errors(error: ValidationError, *path: str) -> list[str]:
    """Return one sentence for each error below `path`: the place, the problem and the given value."""
    sentences = []
    for problem in error.errors(include_url=False):
        place = ".".join([*path, *map(str, problem["loc"])]) or "(all)"
        given = shortened(repr(problem["input"]), _MAX_VALUE_LENGTH)
        sentences.append(f"Argument {place!r}: {problem['msg']}, got {given}.")
    return sentences


def _convert(parameter: Parameter, args: Mapping[str, Any]) -> Any:
    if parameter.name not in args:
        return parameter.default
    given = args[parameter.name]
    # Models send null for an optional parameter, even if its type does not include None.
    if given is None and parameter.default is None:
        return None
    return parameter.adapter.validate_python(given)
