"""Eval sets of a shop, and Celery tasks that the test runs in place of workers."""

from __future__ import annotations

from typing import Any

from celery import current_app

import sessions_app.contrib.evaluation.tasks  # noqa: F401 - registers the task
from runtime import types
from runtime.evaluation.eval_case import EvalCase, IntermediateData, Invocation
from runtime.evaluation.eval_config import DEFAULT_CONFIG, EvalConfig
from runtime.evaluation.eval_set import EvalSet
from sessions_app.contrib.evaluation.start import EVALUATE_CASE, start_evaluation
from sessions_app.models import EvaluatedCase, Evaluation

APP = "shop"


def case_of(eval_id: str, message: str, answer: str, *calls: str, **fields: Any) -> EvalCase:
    """Return a case of one message, an expected answer and expected calls without arguments."""
    uses = [types.FunctionCall(name=name, args={}) for name in calls]
    invocation = Invocation(
        user_content=types.UserContent(message),
        final_response=types.ModelContent(answer),
        intermediate_data=IntermediateData(tool_uses=uses),
    )
    return EvalCase(eval_id=eval_id, conversation=[invocation], **fields)


def begin(*cases: EvalCase, config: EvalConfig = DEFAULT_CONFIG, set_id: str = "prices") -> Evaluation:
    return start_evaluation(APP, EvalSet(eval_set_id=set_id, eval_cases=list(cases)), config)


def run_case(case_id: int) -> None:
    """Run the Celery task of a case in this process."""
    current_app.tasks[EVALUATE_CASE].apply(args=(case_id,), throw=True)


def run_all(evaluation: Evaluation) -> Evaluation:
    """Run the tasks of all cases, and return the evaluation as it is then."""
    for case in evaluation.cases.order_by("position"):
        run_case(case.pk)
    return Evaluation.objects.get(pk=evaluation.pk)


def outcome(evaluation: Evaluation) -> dict[str, str]:
    """Return the status of each case by its id."""
    rows: list[EvaluatedCase] = list(evaluation.cases.all())
    return {row.eval_id: row.status for row in rows}
