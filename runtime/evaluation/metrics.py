"""All metrics, by the names of their criteria."""

from pydantic import ValidationError

from runtime.errors import AdkError, EvaluationError
from runtime.evaluation.base_metric import Metric
from runtime.evaluation.computed_metrics import CustomMetric, ResponseMatch, ToolTrajectory
from runtime.evaluation.efficiency import MEASURES
from runtime.evaluation.eval_config import CustomMetricConfig, EvalConfig
from runtime.evaluation.eval_metrics import BaseCriterion
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
    if name in MEASURES:
        raise EvaluationError(
            f"criteria.{name}: it is reported for every case, and has no threshold. Leave it out."
        )
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
