"""Metrics without a judge: words of the final response, calls of tools, and functions of a program.

The words are compared by ROUGE-1, which counts common words. It is defined for words between spaces; scripts without
spaces are split into characters, otherwise a whole sentence would be a single word.
"""

import asyncio
import inspect
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

import snowballstemmer

from runtime import types
from runtime.agents.code_references import resolve_fully_qualified_name
from runtime.errors import EvaluationError
from runtime.evaluation.base_metric import InvocationScore, Metric, MetricResult
from runtime.evaluation.conversation_scenarios import ConversationScenario
from runtime.evaluation.eval_case import Invocation, get_all_tool_calls
from runtime.evaluation.eval_metrics import BaseCriterion, EvalMetric, ToolTrajectoryCriterion
from runtime.evaluation.evaluator import EvaluationResult
from runtime.evaluation.texts import content_text
from runtime.events.calls import FRAMEWORK_CALLS

MAX_UNSTEMMED_LENGTH = 3
MAX_STEMMED_LENGTH = 100
MAX_TEXT_LENGTH = 100_000
"""Maximum number of characters to compare; the comparison blocks the event loop."""
COUNTED_BY_CHARACTER = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")
"""Scripts in which each character counts as a word: most have no spaces between words."""
COUNTED_BY_CONSONANT = ("THAI", "LAO", "KHMER", "MYANMAR")
"""Scripts without spaces between words, in which each consonant with its marks counts as a word."""

MatchType = ToolTrajectoryCriterion.MatchType
Calls = Sequence[types.FunctionCall]

_stem_word = snowballstemmer.stemmer("porter").stemWord


class ResponseMatch(Metric):
    """F-measure of the common words of both texts, with English words reduced to their stems."""

    name = "response_match_score"

    async def score(self, actual: Invocation, expected: Invocation) -> InvocationScore:
        wanted = content_text(expected.final_response)
        if not wanted:
            return InvocationScore()
        return InvocationScore(score=rouge_1(content_text(actual.final_response), wanted))


def rouge_1(text: str, expected: str) -> float:
    """Return the harmonic mean of precision and recall of the words of `text`."""
    found = Counter(_words(text))
    wanted = Counter(_words(expected))
    common = (found & wanted).total()
    if not common:
        return 0.0
    # The harmonic mean, with both denominators reduced.
    return 2 * common / (found.total() + wanted.total())


def _words(text: str) -> list[str]:
    spaced = "".join(map(_space_out, unicodedata.normalize("NFKC", text[:MAX_TEXT_LENGTH]).lower()))
    return [_stem(word) for word in spaced.split()]


def _space_out(char: str) -> str:
    """Return the character with spaces where a word begins or ends; a space for characters outside of words."""
    # Marks, such as accents, belong to the letter before them.
    if unicodedata.category(char).startswith("M"):
        return char
    if not char.isalnum():
        return " "
    if char.isascii():
        return char
    script = unicodedata.name(char, "").partition(" ")[0]
    if script in COUNTED_BY_CHARACTER:
        return f" {char} "
    if script in COUNTED_BY_CONSONANT:
        return f" {char}"
    return char


def _stem(word: str) -> str:
    # Porter's stemmer is for English.
    if word.isascii() and MAX_UNSTEMMED_LENGTH < len(word) <= MAX_STEMMED_LENGTH:
        return str(_stem_word(word))
    return word


class ToolTrajectory(Metric):
    """1.0 for an invocation whose calls match the expected calls, otherwise 0.0.

    The framework's questions to the user are not calls of the agent, and are ignored.
    """

    name = "tool_trajectory_avg_score"
    criterion_type = ToolTrajectoryCriterion

    _criterion: ToolTrajectoryCriterion

    async def score(self, actual: Invocation, expected: Invocation) -> InvocationScore:
        return InvocationScore(score=float(self._matches(_calls(actual), _calls(expected))))

    def _matches(self, actual: Calls, expected: Calls) -> bool:
        match self._criterion.match_type:
            case MatchType.EXACT:
                return len(actual) == len(expected) and all(map(self._equal, actual, expected))
            case MatchType.IN_ORDER:
                remaining = iter(actual)  # Each search begins after the call found by the last search.
                return all(any(self._equal(call, wanted) for call in remaining) for wanted in expected)
            case MatchType.ANY_ORDER:
                return self._has_all(list(actual), expected)

    def _has_all(self, actual: list[types.FunctionCall], expected: Calls) -> bool:
        for wanted in expected:
            for index, call in enumerate(actual):
                if self._equal(call, wanted):
                    # Deleted, so two expected calls need two calls.
                    del actual[index]
                    break
            else:
                return False
        return True

    def _equal(self, actual: types.FunctionCall, expected: types.FunctionCall) -> bool:
        if actual.name != expected.name:
            return False
        return self._criterion.ignore_args or (actual.args or {}) == (expected.args or {})


def _calls(invocation: Invocation) -> list[types.FunctionCall]:
    calls = get_all_tool_calls(invocation.intermediate_data)
    return [call for call in calls if call.name not in FRAMEWORK_CALLS]


class CustomMetric(Metric):
    """Metric of a function, which takes the metric, the actual and expected invocations, and the scenario.

    Args:
        function_name: full name of the function; it may be a coroutine function.

    Raises:
        ConfigurationError: there is no such function.
    """

    needs_reference = False

    def __init__(self, name: str, function_name: str, criterion: BaseCriterion) -> None:
        super().__init__(criterion)
        self.name = name
        self._metric = EvalMetric(metric_name=name, criterion=criterion)
        self._function = resolve_fully_qualified_name(function_name)
        if not callable(self._function):
            raise EvaluationError(f"{function_name!r} is no function. Name one.")

    async def score(self, actual: Invocation, expected: Invocation) -> InvocationScore:
        """Return no score: the function scores the whole conversation."""
        return InvocationScore()

    async def evaluate(
        self,
        actual: Sequence[Invocation],
        expected: Sequence[Invocation],
        scenario: ConversationScenario | None = None,
    ) -> MetricResult:
        # A conversation with a simulated user has no expected one.
        reference: list[Invocation] | None = None
        if scenario is None:
            reference = list(expected)
        found = await self._call(list(actual), reference, scenario)
        if not isinstance(found, EvaluationResult):
            raise EvaluationError(f"The function of {self.name} gave no EvaluationResult. Return one.")
        scores = []
        for result in found.per_invocation_results:
            scores.append(InvocationScore(score=result.score, rubrics=result.rubric_scores or []))
        return MetricResult(
            metric=self.name, threshold=self.threshold, score=found.overall_score, invocations=scores
        )

    async def _call(self, *arguments: Any) -> Any:
        metric = self._metric.model_copy(deep=True)
        if inspect.iscoroutinefunction(self._function):
            return await self._function(metric, *arguments)
        # In a thread: a function may take long, and others run on the loop.
        found = await asyncio.to_thread(self._function, metric, *arguments)
        if inspect.isawaitable(found):
            return await found
        return found
