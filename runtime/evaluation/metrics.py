"""All metrics, by the names of their criteria."""

from __future__ import annotations

from pydantic import ValidationError

from runtime.errors import AdkError, EvaluationError
from runtime.evaluation.eval_config import EvalConfig
from runtime.evaluation.eval_metrics import BaseCriterion
from runtime.evaluation.hallucinations import Hallucinations
from runtime.evaluation.json_files import sentence_of
from runtime.evaluation.judged_response import FinalResponseMatch
from runtime.evaluation.judged_rubrics import (
    RubricsOfConversation,
    RubricsOfFinalResponse,
    RubricsOfToolUse,
    Safety,
    TaskSuccess,
    ToolUseQuality,
    TrajectoryQuality,
)
from runtime.evaluation.metric import Metric
from runtime.evaluation.response_match import ResponseMatch
from runtime.evaluation.tool_trajectory import ToolTrajectory

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
    found = {name: _metric(name, criterion) for name, criterion in config.criteria.items()}
    return [found[name] for name in METRICS if name in found]


def _metric(name: str, criterion: BaseCriterion) -> Metric:
    metric = METRICS.get(name)
    if metric is None:
        raise EvaluationError(
            f"criteria.{name}: there is no such metric. The metrics are {', '.join(METRICS)}."
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
