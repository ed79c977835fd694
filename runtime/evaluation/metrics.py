"""All metrics, by the names of their criteria, and metrics that a program defines by a function."""

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from runtime.agents.code_references import resolve_fully_qualified_name
from runtime.errors import AdkError, EvaluationError
from runtime.evaluation.computed_metrics import ResponseMatch, ToolTrajectory
from runtime.evaluation.conversation_scenarios import ConversationScenario
from runtime.evaluation.eval_case import Invocation
from runtime.evaluation.eval_config import CustomMetricConfig, EvalConfig
from runtime.evaluation.eval_metrics import BaseCriterion, EvalMetric
from runtime.evaluation.evaluator import EvaluationResult
from runtime.evaluation.json_files import sentence_of
from runtime.evaluation.judged_metrics import (
    FinalResponseMatch,
    Hallucinations,
    RubricsOfConversation,
    RubricsOfFinalResponse,
    RubricsOfToolUse,
    Safety,
    TaskSuccess,
    ToolUseQuality,
    TrajectoryQuality,
)
from runtime.evaluation.metric import InvocationScore, Metric, MetricResult

_ALL: tuple[type[Metric], ...] = (
    ToolTrajectory,
    ResponseMatch,
    FinalResponseMatch,
    RubricsOfFinalResponse,
    RubricsOfToolUse,
    RubricsOfConversation,
    Hallucinations,
    Safety,
    TaskSuccess,
    TrajectoryQuality,
    ToolUseQuality,
)
METRICS = {metric.name: metric for metric in _ALL}


def metrics_of(config: EvalConfig) -> list[Metric]:
    """Return the metrics of the criteria, in the order of `METRICS`.

    Raises:
        EvaluationError: criteria are missing, unknown or invalid; the message names the field.
    """
    if not config.criteria:
        raise EvaluationError(f"Give at least one of the criteria {', '.join(METRICS)}.")
    for name in config.custom_metrics:
        if name not in config.criteria:
            raise EvaluationError(
                f"custom_metrics.{name}: the metric has no threshold. Give criteria.{name}."
            )
    found: dict[str, Metric] = {}
    for name, criterion in config.criteria.items():
        custom = config.custom_metrics.get(name)
        found[name] = _custom_metric(name, custom, criterion) if custom else _metric(name, criterion)
    order = [*METRICS, *sorted(found.keys() - METRICS.keys())]
    return [found[name] for name in order if name in found]


def _custom_metric(name: str, custom: CustomMetricConfig, criterion: BaseCriterion) -> Metric:
    try:
        return CustomMetric(name, custom.code_config.name, criterion)
    except AdkError as error:
        raise EvaluationError(f"custom_metrics.{name}.code_config.name: {error}") from error


def _metric(name: str, criterion: BaseCriterion) -> Metric:
    metric = METRICS.get(name)
    if metric is None:
        raise EvaluationError(
            f"criteria.{name}: there is no such metric. The metrics are {', '.join(METRICS)} and custom_metrics."
        )
    try:
        known = metric.criterion_type.model_validate(criterion.model_dump())
        if known.model_extra:
            fields = ", ".join(metric.criterion_type.model_fields)
            raise EvaluationError(
                f"{next(iter(known.model_extra))!r} is no field of this criterion. The fields are {fields}."
            )
        return metric(known)
    except ValidationError as error:
        raise EvaluationError(sentence_of(error, "criteria", name)) from error
    except AdkError as error:
        raise EvaluationError(f"criteria.{name}: {error}") from error


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
