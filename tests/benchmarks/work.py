"""Work that a benchmark gives to a server, and its figures."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass, field

_YIELDED_AT = re.compile(r"\d{10}\.\d{6}")


@dataclass(frozen=True)
class Work:
    """Turns of people who talk at once.

    Attributes:
        has_call: true when the model calls a function before it answers.
        words: pieces of each answer.
        seconds_between: time of the model for each piece.
        pause: longest time in seconds that a person reads an answer before the next message.
        is_markdown: true when answers have code, tables and formulas.
    """

    people: int
    turns: int = 5
    has_call: bool = True
    words: int = 50
    seconds_between: float = 0.02
    pause: float = 0.0
    is_markdown: bool = False

    @property
    def text(self) -> str:
        """The message, which tells the agent what to do."""
        kind = "call" if self.has_call else "answer"
        look = "markdown" if self.is_markdown else "plain"
        return f"{kind} {self.seconds_between} {self.words} {look}"

    def __str__(self) -> str:
        words = [
            f"{self.people:3} people",
            "with a function call" if self.has_call else "without a function call",
            f"pauses up to {self.pause:g} s" if self.pause else "no pauses",
            f"{1000 * self.seconds_between:.0f} ms a piece" if self.seconds_between else "no model time",
        ]
        if self.is_markdown:
            words.append("Markdown")
        return ", ".join(words)


@dataclass
class Measurements:
    """Times that people saw, and the CPU seconds of the servers.

    Attributes:
        turns: seconds from a message to the end of its answer.
        first_words: seconds from a message to the first piece of its answer.
        ages: seconds from the model's yield of a piece to its arrival.
        web: CPU seconds of the web process.
        postgres: CPU seconds of PostgreSQL.
    """

    turns: list[float] = field(default_factory=list)
    first_words: list[float] = field(default_factory=list)
    ages: list[float] = field(default_factory=list)
    web: float = 0.0
    postgres: float = 0.0

    def __add__(self, other: Measurements) -> Measurements:
        return Measurements(**{name: value + getattr(other, name) for name, value in vars(self).items()})

    @property
    def web_ms(self) -> float:
        """Milliseconds of the web process's CPU for a turn."""
        return 1000 * self.web / len(self.turns)

    @property
    def postgres_ms(self) -> float:
        """Milliseconds of PostgreSQL's CPU for a turn."""
        return 1000 * self.postgres / len(self.turns)

    def __str__(self) -> str:
        turns, ages, first_words = sorted(self.turns), sorted(self.ages), sorted(self.first_words)
        return (
            f"CPU a turn: web {self.web_ms:5.1f} ms, PostgreSQL {self.postgres_ms:4.1f} ms; "
            f"turn {statistics.median(turns):.2f} s, 95 % within {percentile(turns, 0.95):.2f} s; "
            f"first word {1000 * statistics.median(first_words):.0f} ms, "
            f"95 % within {1000 * percentile(first_words, 0.95):.0f} ms; "
            f"words {1000 * statistics.median(ages):.0f} ms old, 95 % under {1000 * percentile(ages, 0.95):.0f} ms"
        )


def times_in(text: str) -> list[float]:
    """Return the times at which the model yielded the pieces of the text."""
    return [float(found) for found in _YIELDED_AT.findall(text)]


def percentile(ordered: list[float], share: float) -> float:
    """Return the value at this share (0 to 1) of the sorted values."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
