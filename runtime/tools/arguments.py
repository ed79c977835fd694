"""The arguments of a function call as Python values (spec T1, Q2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from runtime.tools.function_declaration import FunctionSignature, Parameter

_LONGEST_VALUE = 80


@dataclass(frozen=True)
class BadArguments:
    """The call cannot be made; the message tells the model what to do better."""

    message: str


def bind(signature: FunctionSignature, args: Mapping[str, Any]) -> dict[str, Any] | BadArguments:
    """Values for all declared parameters: converted to their types, or their defaults.

    Arguments that the function does not take are dropped (spec Q2).
    """
    missing = [p.name for p in signature.parameters if p.is_required and p.name not in args]
    if missing:
        return BadArguments(
            f"Nothing was done: mandatory arguments are missing: {', '.join(missing)}. "
            "Call again with all of them."
        )
    bound: dict[str, Any] = {}
    problems: list[str] = []
    for parameter in signature.parameters:
        try:
            bound[parameter.name] = _value(parameter, args)
        except ValidationError as error:
            problems += explain(error, parameter.name)
    return correction(problems) if problems else bound


def correction(problems: list[str]) -> BadArguments:
    """What the model is told about wrong values."""
    return BadArguments(f"Nothing was done. {' '.join(problems)} Correct that and call again.")


def explain(error: ValidationError, *path: str) -> list[str]:
    """One sentence for each thing that is wrong below `path`: where, what was expected, what was given."""
    problems = error.errors(include_url=False)
    places = [".".join([*path, *map(str, problem["loc"])]) or "(all)" for problem in problems]
    return [
        f"Argument {place!r}: {problem['msg']}, got {_short(problem['input'])}."
        for place, problem in zip(places, problems, strict=True)
    ]


def _value(parameter: Parameter, args: Mapping[str, Any]) -> Any:
    if parameter.name not in args:
        return parameter.default
    given = args[parameter.name]
    if given is None and parameter.default is None:
        return None
    return parameter.adapter.validate_python(given)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
