"""Metric: score of an invocation compared with the expected invocation, and the result over a conversation."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from statistics import fmean
from typing import Any, ClassVar

from pydantic import BaseModel

from runtime.evaluation.conversation_scenarios import ConversationScenario
from runtime.evaluation.eval_case import Invocation
from runtime.evaluation.eval_metrics import BaseCriterion
from runtime.evaluation.eval_rubrics import RubricScore


class InvocationScore(BaseModel):
    """Score of an invocation; None if there is nothing to compare with.

    Attributes:
        rationale: the judge's reason.
        rubrics: verdicts on rubrics; the score is their mean.
    """

    score: float | None = None
    rationale: str = ""
    rubrics: list[RubricScore] = []


class MetricResult(BaseModel):
    """Result of a metric over all invocations of a case.

    Attributes:
        threshold: lowest passing score; None for a metric that only informs.
        score: mean of the scores; None if no invocation has a score.
    """

    metric: str
    threshold: float | None = None
    score: float | None = None
    invocations: list[InvocationScore] = []

    @property
    def is_failed(self) -> bool:
        """True if the score is below the threshold."""
        return self.threshold is not None and self.score is not None and self.score < self.threshold


class Metric(ABC):
    """A measure and its criterion.

    Attributes:
        name: name of the criterion in a `test_config.json`.
        needs_reference: True if the metric compares with an expected conversation, which a scenario does not have.
    """

    name: str
    criterion_type: ClassVar[type[BaseCriterion]] = BaseCriterion
    needs_reference: ClassVar[bool] = True

    def __init__(self, criterion: BaseCriterion) -> None:
        self.threshold = criterion.threshold
        # An object of `criterion_type`, which each metric declares for itself.
        self._criterion: Any = self.criterion_type.model_validate(criterion.model_dump())

    @abstractmethod
    async def score(self, actual: Invocation, expected: Invocation) -> InvocationScore:
        """Compare an invocation with the expected invocation.

        Raises:
            EvaluationError: a judge gave no valid verdict.
        """

    async def evaluate(
        self,
        actual: Sequence[Invocation],
        expected: Sequence[Invocation],
        scenario: ConversationScenario | None = None,
    ) -> MetricResult:
        """Return the result over the invocations of a conversation; raise the errors of `score`.

        Args:
            expected: without an expected conversation, the actual messages.
            scenario: the scenario that a simulated user has played.
        """
        scores = [await self.score(*pair) for pair in zip(actual, expected, strict=True)]
        return self.result(scores)

    def result(self, scores: Sequence[InvocationScore]) -> MetricResult:
        return MetricResult(
            metric=self.name, threshold=self.threshold, score=mean_score(scores), invocations=list(scores)
        )


def mean_score(scores: Sequence[InvocationScore]) -> float | None:
    """Return the mean of all verdicts on rubrics; without rubrics, the mean of the scores."""
    # Each verdict has the same weight, however many rubrics an invocation has.
    judged = [rubric.score for score in scores for rubric in score.rubrics]
    if not judged:
        judged = [score.score for score in scores]
    values = [value for value in judged if value is not None]
    return fmean(values) if values else None
