"""Comparison of an evaluation with the previous evaluation of its set: by case, and by metric of each case."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isclose

from django.db.models import QuerySet

from runtime.evaluation.base_metric import MetricResult
from sessions_app.models import CaseStatus, EvaluatedCase, Evaluation

RANKS = {CaseStatus.BROKEN: 0, CaseStatus.FAILED: 1, CaseStatus.PASSED: 2}
LARGE_COLUMNS = ("case", "actual", "error_detail")


class Change(StrEnum):
    """Change since the previous evaluation; `NEW` when there is nothing to compare with."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    NEW = "new"


@dataclass(frozen=True)
class MetricReport:
    """Result of a case by a criterion.

    Attributes:
        score: the score; None when the metric had nothing to compare.
        threshold: lowest passing score; None for a metric of costs, of which less is better.
        before: the score in the previous evaluation; None without such a score.
    """

    name: str
    score: float | None
    threshold: float | None
    change: Change
    before: float | None

    @property
    def is_failed(self) -> bool:
        """True if the score is below the threshold."""
        return self.threshold is not None and self.score is not None and self.score < self.threshold


@dataclass(frozen=True)
class CaseReport:
    """Outcome of a case, and its change since the previous evaluation."""

    row: EvaluatedCase
    metrics: list[MetricReport]
    change: Change


def reports_of(evaluation: Evaluation, cases: QuerySet[EvaluatedCase]) -> list[CaseReport]:
    """Return reports on cases of an evaluation, in two queries."""
    rows = list(cases)
    before = EvaluatedCase.objects.filter(
        evaluation=evaluation.previous_id, eval_id__in=[row.eval_id for row in rows]
    )
    # Cases are compared by their id in the set: positions change when cases are added.
    known = {row.eval_id: row for row in before.only("eval_id", "status", "results")}
    return [_report(row, known.get(row.eval_id)) for row in rows]


def count_changes(reports: Iterable[CaseReport]) -> Counter[Change]:
    """Return the number of cases for each change."""
    return Counter(report.change for report in reports)


def change_of(now: float | None, before: float | None) -> Change:
    """Return the change of a number; higher is better."""
    if now is None or before is None:
        return Change.NEW
    # Scores are means of floats, which differ in the last digits with the order of the sum.
    if isclose(now, before, abs_tol=1e-9):
        return Change.SAME
    return Change.BETTER if now > before else Change.WORSE


def _report(row: EvaluatedCase, before: EvaluatedCase | None) -> CaseReport:
    past = _results_of(before) if before else {}
    metrics = [_metric(result, past.get(result.metric)) for result in _results_of(row).values()]
    return CaseReport(row, metrics, _change_of_case(row, before, metrics))


def _change_of_case(
    row: EvaluatedCase, before: EvaluatedCase | None, metrics: Iterable[MetricReport]
) -> Change:
    """Return the change of the status; for the same status, the change of the scores if all have the same direction."""
    change = Change.NEW
    if before:
        change = change_of(_rank(row), _rank(before))
    # Costs differ in each run, so metrics without a threshold do not count.
    changes = {metric.change for metric in metrics if metric.threshold is not None}
    changes -= {Change.SAME, Change.NEW}
    if change is Change.SAME and len(changes) == 1:
        return changes.pop()
    return change


def _rank(row: EvaluatedCase) -> int | None:
    return RANKS.get(CaseStatus(row.status))


def _metric(result: MetricResult, before: MetricResult | None) -> MetricReport:
    past = before.score if before else None
    if result.threshold is None:  # of costs, less is better
        change = change_of(past, result.score)
    else:
        change = change_of(result.score, past)
    return MetricReport(result.metric, result.score, result.threshold, change, past)


def _results_of(row: EvaluatedCase) -> Mapping[str, MetricResult]:
    results = map(MetricResult.model_validate, row.results)
    return {result.metric: result for result in results}
