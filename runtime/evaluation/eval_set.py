"""EvalSet: cases for the evaluation of an app, as in an `*.evalset.json`."""

from pydantic import BaseModel

from runtime.evaluation.eval_case import EvalCase as EvalCase


class EvalSet(BaseModel):
    """Cases under an id."""

    eval_set_id: str
    name: str | None = None
    description: str | None = None
    eval_cases: list[EvalCase]
    creation_timestamp: float = 0.0
