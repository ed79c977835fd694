"""Results of metrics that a program defines."""

from pydantic import BaseModel, ConfigDict

from runtime.evaluation.eval_case import Invocation
from runtime.evaluation.eval_metrics import EvalStatus as EvalStatus
from runtime.evaluation.eval_rubrics import RubricScore


class PerInvocationResult(BaseModel):
    """Score of an invocation; None if there is nothing to compare with."""

    model_config = ConfigDict(extra="forbid")

    actual_invocation: Invocation
    expected_invocation: Invocation | None = None
    score: float | None = None
    eval_status: EvalStatus = EvalStatus.NOT_EVALUATED
    rubric_scores: list[RubricScore] | None = None


class EvaluationResult(BaseModel):
    """Score of a case, which passes from the threshold of its criterion on."""

    model_config = ConfigDict(extra="forbid")

    overall_score: float | None = None
    overall_eval_status: EvalStatus = EvalStatus.NOT_EVALUATED
    per_invocation_results: list[PerInvocationResult] = []
    overall_rubric_scores: list[RubricScore] | None = None
