"""Rubrics: properties of an answer, each judged by a model with yes or no."""

from runtime.evaluation.common import EvalBaseModel


class RubricContent(EvalBaseModel):
    """Property, such as "The answer names the price."."""

    text_property: str | None = None


class Rubric(EvalBaseModel):
    """A property of an answer.

    Attributes:
        type: kind of metric that uses the rubric, such as `FINAL_RESPONSE_QUALITY`. Not needed for a rubric of a
            criterion.
    """

    rubric_id: str
    rubric_content: RubricContent
    description: str | None = None
    type: str | None = None


class RubricScore(EvalBaseModel):
    """Verdict on a property: 1.0 for yes, 0.0 for no."""

    rubric_id: str
    rationale: str | None = None
    score: float | None = None
