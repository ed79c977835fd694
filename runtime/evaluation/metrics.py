"""All metrics, by the names of their criteria."""

from __future__ import annotations

from pydantic import ValidationError

from runtime.errors import AdkError, EvaluationError
from runtime.evaluation.eval_config import EvalConfig
from runtime.evaluation.eval_metrics import BaseCriterion
from runtime.evaluation.json_files import sentence_of
from runtime.evaluation.judged_response import FinalResponseMatch, RubricsOfFinalResponse
from runtime.evaluation.metric import Metric
from runtime.evaluation.response_match import ResponseMatch
from runtime.evaluation.tool_trajectory import ToolTrajectory

METRICS: dict[str, type[Metric]] = {
    metric.name: metric
    for metric in (ToolTrajectory, ResponseMatch, FinalResponseMatch, RubricsOfFinalResponse)
}


def metrics_of(config: EvalConfig) -> list[Metric]:
    """Return the metrics of the criteria, in the order of `METRICS`.

    Raises:
        EvaluationError: criteria are missing, unknown or invalid; the message names the field.
    """
    if not config.criteria:
        raise EvaluationError(f"Give at least one of the criteria {', '.join(METRICS)}.")
    found = {name: _metric(name, criterion) for name, criterion in config.criteria.items()}
    return [found[name] for name in METRICS if name in found]


def _metric(name: str, criterion: BaseCriterion) -> Metric:
    metric = METRICS.get(name)
    if metric is None:
        raise EvaluationError(
            f"criteria.{name}: there is no such metric. The metrics are {', '.join(METRICS)}."
        )
    try:
        return metric(criterion)
    except ValidationError as error:
        raise EvaluationError(sentence_of(error, "criteria", name)) from error
    except AdkError as error:
        raise EvaluationError(f"criteria.{name}: {error}") from error
