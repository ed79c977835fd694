"""Choose the answer to a request: call a function, transfer to another agent, or say a text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from adk_site.demo.model.arguments import Arguments, fill_arguments
from adk_site.demo.model.parsed_request import TRANSFER, ParsedRequest
from adk_site.demo.model.replies import ask_for, describe_results, small_talk
from adk_site.demo.model.times import START_PARAMETERS, TASK_PARAMETER, without_times
from adk_site.demo.model.words import first_paragraph, stems
from runtime import types

MIN_SCORE = 0.3
FOUND_ARGUMENT = 0.25
MISSING_ARGUMENT = -1.25


@dataclass(frozen=True)
class Call:
    """Choice to call a function."""

    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Say:
    """Choice to answer with a text."""

    text: str


Choice = Call | Say


@dataclass(frozen=True)
class Candidate:
    """A function to call or an agent to transfer to.

    Attributes:
        name_words: Stems of the words of its name.
        words: Stems of the words of its name and its description.
        arguments: Arguments found in the person's words.
        function: The declaration; None for an agent.
    """

    name_words: set[str]
    words: set[str]
    arguments: Arguments
    function: types.FunctionDeclaration | None = None

    def score(self, spoken: set[str], frequency: Counter[str]) -> float:
        """Return how well the candidate matches the spoken words.

        Words that few candidates share weigh most, and words of the name weigh double.

        Args:
            spoken: Stems of the person's words.
            frequency: Number of candidates that have a word.
        """
        shared = spoken & self.words
        if not shared:
            return 0.0
        fit = sum((2 if word in self.name_words else 1) / frequency[word] for word in shared)
        found, missing = len(self.arguments.values), len(self.arguments.missing)
        bonus = FOUND_ARGUMENT * bool(found and self.function) + MISSING_ARGUMENT * bool(missing)
        return fit + bonus


def choose(request: ParsedRequest, long_running: set[str]) -> Choice:
    """Return the choice for a request.

    Function responses are always answered with a text, so that the model never calls functions in a loop.

    Args:
        request: The request to answer.
        long_running: Names of the long-running tools.
    """
    if request.responses:
        return Say(describe_results(request.responses, long_running))
    best = _best_candidate(request)
    if best is None:
        return Say(small_talk(request))
    if best.function is None:
        return Call(TRANSFER, best.arguments.values)
    if best.arguments.missing:
        return Say(ask_for(best.function, best.arguments.missing))
    return Call(best.function.name or "", best.arguments.values)


def _best_candidate(request: ParsedRequest) -> Candidate | None:
    """Return the best match of the words; if they name a time, prefer functions that take a start time."""
    functions = [_function_candidate(function, request.words) for function in request.functions]
    candidates = [*functions, *_agent_candidates(request)]
    delayable = [
        candidate for candidate in candidates if START_PARAMETERS & candidate.arguments.values.keys()
    ]
    if not delayable:
        return _best_match(candidates, request.words)
    for_any_task = (candidate for candidate in delayable if TASK_PARAMETER in candidate.arguments.values)
    return _best_match(delayable, without_times(request.words)) or next(for_any_task, None)


def _best_match(candidates: list[Candidate], words: str) -> Candidate | None:
    """Return the candidate with the highest score, or None when all scores are too low.

    The command, which is the part before a colon or a quote, is matched first. If it fits no candidate, all words are.
    """
    frequency = Counter(word for candidate in candidates for word in candidate.words)
    for spoken in (stems(_command(words)), stems(words)):
        scores = [candidate.score(spoken, frequency) for candidate in candidates]
        if scores and max(scores) >= MIN_SCORE:
            return candidates[scores.index(max(scores))]
    return None


def _command(words: str) -> str:
    return re.split(r":\s|[\"“«]", words, maxsplit=1)[0]


def _function_candidate(function: types.FunctionDeclaration, words: str) -> Candidate:
    properties = (function.parameters.properties or {}) if function.parameters else {}
    texts = [function.name or "", first_paragraph(function.description or "")]
    for name, schema in properties.items():
        texts += [name, schema.description or "", *(schema.enum or [])]
    arguments = fill_arguments(function.parameters, words)
    return Candidate(
        stems((function.name or "").replace("_", " ")), stems(" ".join(texts)), arguments, function
    )


def _agent_candidates(request: ParsedRequest) -> list[Candidate]:
    return [
        Candidate(
            stems(name.replace("_", " ")), stems(f"{name} {description}"), Arguments({"agent_name": name})
        )
        for name, description in request.agents.items()
    ]
