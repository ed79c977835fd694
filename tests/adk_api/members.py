"""Constructor parameters and public members of google-adk's classes that the classes of `runtime` lack."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import BaseModel

from tests.adk_api.reading import import_or_none, read_reasons

LIST = Path(__file__).parent / "members.txt"
REASONS = Path(__file__).parent / "absent_members.txt"


@cache
def member_reasons() -> dict[str, str]:
    """Return the reason of each absent member: `Class.member`, or `:member` for the member of any class."""
    return read_reasons(REASONS)


@dataclass(frozen=True)
class AbsentMember:
    """A parameter or public member of a class of google-adk that the class of `runtime` lacks."""

    owner: type
    name: str
    is_parameter: bool

    @property
    def place(self) -> str:
        return f"{self.owner.__name__}.{self.name}"


def reason_for_member(absent: AbsentMember) -> str | None:
    """Return why a class lacks a parameter or member."""
    return member_reasons().get(absent.place) or member_reasons().get(f":{absent.name}")


@cache
def absent_members() -> list[AbsentMember]:
    """Return the parameters and members that the classes of `runtime` lack."""
    found = []
    for line in LIST.read_text().splitlines():
        module, name, members = line.split(":", 2)
        ours = getattr(import_or_none(f"runtime.{module}"), name, None)
        if isinstance(ours, type):
            parameters, _, others = members.partition("|")
            known = _parameters(ours)
            found += [AbsentMember(ours, given, True) for given in parameters.split() if given not in known]
            found += [
                AbsentMember(ours, other, False)
                for other in others.split()
                if other not in known and not hasattr(ours, other)
            ]
    return found


def _parameters(found: type) -> set[str]:
    if issubclass(found, BaseModel):
        return set(found.model_fields)
    return set(inspect.signature(found).parameters)
