"""Celery task: run a case of an evaluation."""

from celery import shared_task

from sessions_app.contrib.evaluation.run import evaluate
from sessions_app.contrib.evaluation.start import EVALUATE_CASE


@shared_task(name=EVALUATE_CASE, ignore_result=True)
def evaluate_case(case_id: int) -> None:
    """Run a case of an evaluation, and measure it."""
    evaluate(case_id)
