"""Rubrics: properties of an answer that a model judges with yes or no."""

from __future__ import annotations

from runtime.evaluation.common import EvalBaseModel


class RubricContent(EvalBaseModel):
    """The property, such as "The answer names the price."."""

    text_property: str | None = None


class Rubric(EvalBaseModel):
    """One property.

    Attributes:
        type: the kind of metric that the rubric is for, such as `FINAL_RESPONSE_QUALITY`. Rubrics of a criterion need
            none.
    """

    rubric_id: str
    rubric_content: RubricContent
    description: str | None = None
    type: str | None = None


class RubricScore(EvalBaseModel):
    """Judgement on one property: 1.0 for yes, 0.0 for no."""

    rubric_id: str
    rationale: str | None = None
    score: float | None = None
