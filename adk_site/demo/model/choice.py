"""Decides what to do with a turn: call a function, hand over, or say something."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from adk_site.demo.model.arguments import Arguments, fill
from adk_site.demo.model.replies import ask_for, small_talk, tell
from adk_site.demo.model.times import TASK, WHEN, without_times
from adk_site.demo.model.turn import TRANSFER, Turn
from adk_site.demo.model.words import first_paragraph, stems
from runtime import types

ENOUGH = 0.3
FOUND_ARGUMENT = 0.25
MISSING_ARGUMENT = -0.75


@dataclass(frozen=True)
class Call:
    """Call this function."""

    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Say:
    """Say this."""

    text: str


Choice = Call | Say


@dataclass(frozen=True)
class Candidate:
    """Something that may be called: the words of its name, and those that describe it."""

    name_words: set[str]
    words: set[str]
    arguments: Arguments
    function: types.FunctionDeclaration | None = None

    def score(self, said: set[str], how_common: Counter[str]) -> float:
        """How well it fits what was said: words that few candidates have count most, those of its name double."""
        shared = said & self.words
        if not shared:
            return 0.0
        fit = sum((2 if word in self.name_words else 1) / how_common[word] for word in shared)
        found, missing = len(self.arguments.values), len(self.arguments.missing)
        bonus = FOUND_ARGUMENT * bool(found and self.function) + MISSING_ARGUMENT * bool(missing)
        return fit + bonus


def choose(turn: Turn, pending_names: set[str]) -> Choice:
    """The decision; after function responses it is always to tell them, so that nothing is called in circles.

    Args:
        pending_names: the tools whose answers may come later.
    """
    if turn.responses:
        return Say(tell(turn.responses, pending_names))
    best = _best(turn)
    if best is None:
        return Say(small_talk(turn))
    if best.function is None:
        return Call(TRANSFER, best.arguments.values)
    if best.arguments.missing:
        return Say(ask_for(best.function, best.arguments.missing))
    return Call(best.function.name or "", best.arguments.values)


def _best(turn: Turn) -> Candidate | None:
    """The candidate that fits the words best; when they say "later", of those that can be put off."""
    candidates = [*(_function(function, turn.words) for function in turn.functions), *_agents(turn)]
    later = [one for one in candidates if WHEN & one.arguments.values.keys()]
    if not later:
        return _fitting(candidates, turn.words)
    for_any_task = next((one for one in later if TASK in one.arguments.values), None)
    return _fitting(later, without_times(turn.words)) or for_any_task


def _fitting(candidates: list[Candidate], words: str) -> Candidate | None:
    """The one that shares most with the words; the part before a colon is the command, if it fits anything."""
    how_common = Counter(word for candidate in candidates for word in candidate.words)
    for said in (stems(_command(words)), stems(words)):
        scores = [candidate.score(said, how_common) for candidate in candidates]
        if scores and max(scores) >= ENOUGH:
            return candidates[scores.index(max(scores))]
    return None


def _command(words: str) -> str:
    return re.split(r":\s|[\"“«]", words, maxsplit=1)[0]


def _function(function: types.FunctionDeclaration, words: str) -> Candidate:
    properties = (function.parameters.properties or {}) if function.parameters else {}
    texts = [function.name or "", first_paragraph(function.description or "")]
    for name, schema in properties.items():
        texts += [name, schema.description or "", *(schema.enum or [])]
    arguments = fill(function.parameters, words)
    return Candidate(
        stems((function.name or "").replace("_", " ")), stems(" ".join(texts)), arguments, function
    )


def _agents(turn: Turn) -> list[Candidate]:
    return [
        Candidate(
            stems(name.replace("_", " ")), stems(f"{name} {description}"), Arguments({"agent_name": name})
        )
        for name, description in turn.agents.items()
    ]
