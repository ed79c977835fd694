"""Registry of the programs: `@program` adds a function of a `World`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from tests.side_by_side import programs
from tests.side_by_side.world import World

Play = Callable[[World], Awaitable[None]]


@dataclass(frozen=True)
class Program:
    """A small agent program that runs in both packages.

    Attributes:
        subject: Module of the program.
        differs: Beginning of the row in docs/adk-differences.md that makes the outcomes differ; None when they agree.
        only_in: Keys of the outcome that differ; without them the outcomes agree. Empty when too much differs.
    """

    subject: str
    name: str
    play: Play
    differs: str | None
    only_in: tuple[str, ...] = ()

    async def outcome(self) -> dict[str, Any]:
        """Run the program and return its normalised outcome."""
        world = World()
        await self.play(world)
        return await world.finish()


PROGRAMS: list[Program] = []


def program(play: Play) -> Play:
    """Register a program whose outcome is the same in both packages."""
    return _registered(play, None)


def differing_program(row: str, *, only_in: tuple[str, ...] = ()) -> Callable[[Play], Play]:
    """Register a program that shows a deliberate difference.

    Args:
        row: Beginning of the row in docs/adk-differences.md.
        only_in: Keys of the outcome; in all others the packages agree.
    """
    return lambda play: _registered(play, row, only_in)


def load_programs() -> list[Program]:
    """Import all modules of programs and return what they registered."""
    for module in pkgutil.iter_modules(programs.__path__):
        importlib.import_module(f"{programs.__name__}.{module.name}")
    return PROGRAMS


def _registered(play: Play, differs: str | None, only_in: tuple[str, ...] = ()) -> Play:
    PROGRAMS.append(Program(play.__module__.rpartition(".")[2], play.__name__, play, differs, only_in))
    return play
