"""Metrics that a program defines by a function."""

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

from runtime.agents.code_references import resolve_fully_qualified_name
from runtime.errors import EvaluationError
from runtime.evaluation.conversation_scenarios import ConversationScenario
from runtime.evaluation.eval_case import Invocation
from runtime.evaluation.eval_metrics import BaseCriterion, EvalMetric
from runtime.evaluation.evaluator import EvaluationResult
from runtime.evaluation.metric import InvocationScore, Metric, MetricResult


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
        reference = None if scenario else list(expected)
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
        return await found if inspect.isawaitable(found) else found
