"""Criteria: thresholds of metrics, and options for measuring them."""

from enum import Enum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, field_validator
from pydantic.alias_generators import to_camel

from runtime import types
from runtime.evaluation.common import EvalBaseModel
from runtime.evaluation.eval_rubrics import Rubric as Rubric
from runtime.evaluation.eval_rubrics import RubricScore as RubricScore

Threshold = float


class JudgeModelOptions(EvalBaseModel):
    """The judge model, and how often it is asked.

    Attributes:
        num_samples: verdicts on each invocation; the majority counts.
        parallelism_limit: maximum number of concurrent requests to the judge.
    """

    judge_model: str = "gemini-2.5-flash"
    judge_model_config: types.GenerateContentConfig | None = None
    num_samples: int = Field(default=5, ge=1)
    parallelism_limit: int = Field(default=1, ge=1)


class BaseCriterion(BaseModel):
    """The lowest passing score.

    Attributes:
        include_intermediate_responses_in_final: True if judges also read the texts before the final response.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow")

    threshold: Threshold = Field(allow_inf_nan=False)
    include_intermediate_responses_in_final: bool = False


class LlmAsAJudgeCriterion(BaseCriterion):
    """Criterion of a metric with a judge model."""

    judge_model_options: JudgeModelOptions = Field(default_factory=JudgeModelOptions)


class RubricsBasedCriterion(LlmAsAJudgeCriterion):
    """Criterion of a metric with rubrics: those given here apply to all cases, in addition to the cases' own."""

    rubrics: list[Rubric] = []


class HallucinationsCriterion(LlmAsAJudgeCriterion):
    """Criterion of the sentences that nothing supports.

    Attributes:
        evaluate_intermediate_nl_responses: True to judge the texts before the final response as well.
    """

    evaluate_intermediate_nl_responses: bool = False


class EvalStatus(Enum):
    """Verdict of a metric."""

    PASSED = 1
    FAILED = 2
    NOT_EVALUATED = 3
    INFORMATIONAL = 4


class EvalMetric(EvalBaseModel):
    """Name and criterion of a metric, for a function that measures it."""

    metric_name: str
    threshold: float | None = None
    criterion: SerializeAsAny[BaseCriterion] | None = None


class ToolTrajectoryCriterion(BaseCriterion):
    """Criterion of the tool calls.

    Attributes:
        ignore_args: True to compare only the names of the tools.
    """

    class MatchType(Enum):
        """Match of the calls with the expected calls: exactly, in order with others between them, or in any order."""

        EXACT = 0
        IN_ORDER = 1
        ANY_ORDER = 2

    match_type: MatchType = MatchType.EXACT
    ignore_args: bool = False

    @field_validator("match_type", mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        """Accept the name with any capitals and separators, such as `in-order`."""
        if not isinstance(value, str):
            return value
        name = value.strip().upper().replace("-", "_").replace(" ", "_")
        if name not in cls.MatchType.__members__:
            raise ValueError(f"Give one of {', '.join(cls.MatchType.__members__)}.")
        return cls.MatchType[name]
