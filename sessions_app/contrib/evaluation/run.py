"""Run of a case in a Celery worker: claim it, run it on the process's event loop, write the result.

The case runs on the background loop of the process, whose pools and toolsets outlive the task. The thread of the task
waits for the case and writes heartbeats. Each step is safe to repeat: a claim increments the number of the attempt, and
only the latest attempt may write.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from django.db import DatabaseError, connection
from django.db.models.functions import Now
from pydantic import BaseModel, ValidationError

from runtime.errors import AdkError
from runtime.evaluation.base_metric import MetricResult
from runtime.evaluation.efficiency import efficiency_of
from runtime.evaluation.eval_case import EvalCase, Invocation
from runtime.evaluation.eval_config import EvalConfig
from runtime.evaluation.metrics import metrics_of
from runtime.evaluation.run_case import check_metrics, evaluate_case, run_case
from runtime.run_config import RunConfig
from runtime.valid_text import storable
from sessions_app.agent_apps.registry import get_app
from sessions_app.agent_apps.toolset_use import using
from sessions_app.conf import conf
from sessions_app.contrib.evaluation.end import end_case
from sessions_app.contrib.evaluation.start import as_values
from sessions_app.models import CaseStatus, EvaluatedCase
from sessions_app.process.sweeping import claim_once
from sessions_app.process.threads import background_loop
from sessions_app.secrets.error_detail import describe
from sessions_app.secrets.masking import mask

logger = logging.getLogger(__name__)
HEARTBEAT_SECONDS = 5.0
M = TypeVar("M", bound=BaseModel)
NOT_COMPARED = "No criterion could compare the case with anything: it expects no final response."


class CaseAttempt:
    """An attempt at a case, with the invocations and results so far."""

    def __init__(self, app_name: str, case: EvalCase, config: EvalConfig) -> None:
        self._app_name = app_name
        self._case = case
        self._config = config
        self.actual: list[Invocation] = []
        self.results: list[MetricResult] = []

    @property
    def status(self) -> CaseStatus:
        """Status of the case by its results; broken when no metric has a score."""
        judged = [result for result in self.results if result.threshold is not None]
        if all(result.score is None for result in judged):
            return CaseStatus.BROKEN
        if any(result.is_failed for result in self.results):
            return CaseStatus.FAILED
        return CaseStatus.PASSED

    async def run(self) -> None:
        """Run and score the case. After an exception `actual` and `results` have the parts done before.

        Raises:
            AdkError: the case cannot be run or judged; the message says why.
            Exception: any error of a judge model.
        """
        app = get_app(self._app_name)
        metrics = metrics_of(self._config)
        check_metrics(metrics, self._case)
        limits = conf().of_app(app.name)
        run_config = RunConfig(max_llm_calls=limits.invocation_model_calls)
        # A reload of the app must not close its toolsets while the case runs.
        with using(app):
            self.actual = await run_case(
                app,
                self._case,
                seconds=limits.invocation_seconds,
                run_config=run_config,
                simulator_config=self._config.user_simulator_config,
            )
        # A case made of a conversation has masked secrets, so secrets in the actual calls would differ from it.
        expected = _masked(self._case)
        actual = [_masked(invocation) for invocation in self.actual]
        for metric in metrics:
            # One metric after the other: if a judge fails, the scores of earlier metrics are kept.
            self.results += await evaluate_case([metric], expected, actual)
        self.results += efficiency_of(actual)


def evaluate(case_id: int) -> None:
    """Evaluate a queued case; do nothing if another worker has claimed the case, or it has ended."""
    row = _claim(case_id)
    if row is None:
        return
    values: dict[str, Any] = {}
    try:
        case = EvalCase.model_validate(row.case)
        config = EvalConfig.model_validate(row.evaluation.config)
        attempt = CaseAttempt(row.evaluation.app_name, case, config)
        future = asyncio.run_coroutine_threadsafe(attempt.run(), background_loop())
        try:
            _wait_with_heartbeats(future, lambda: _renew_heartbeat(row))
        finally:
            values["actual"] = [as_values(invocation) for invocation in attempt.actual]
            values["results"] = [as_values(result) for result in attempt.results]
        status = attempt.status
        values["error"] = ""
        if status is CaseStatus.BROKEN:
            values["error"] = NOT_COMPARED
    except Exception as error:
        logger.warning("Case %s of evaluation %s has no result", row.pk, row.evaluation_id, exc_info=True)
        status = CaseStatus.BROKEN
        sentence = "The case failed by an exception."
        if isinstance(error, AdkError):
            sentence = str(error)
        values |= {"error": storable(sentence), "error_detail": describe(error)}
    end_case(row, status, **values)


def _claim(case_id: int) -> EvaluatedCase | None:
    """Claim the case; return None for a case not in the queue."""
    queued = EvaluatedCase.objects.filter(pk=case_id, status=CaseStatus.QUEUED)
    if not claim_once(queued, status=CaseStatus.RUNNING, heartbeat_at=Now()):
        return None
    return EvaluatedCase.objects.select_related("evaluation").filter(pk=case_id).first()


def _wait_with_heartbeats(future: Future[None], beat: Callable[[], bool]) -> None:
    """Wait for the end of the attempt; cancel it when `beat` returns False. Raise the exception of the attempt."""
    while not wait([future], HEARTBEAT_SECONDS).done:
        if not beat():
            future.cancel()
    future.result()


def _renew_heartbeat(row: EvaluatedCase) -> bool:
    """Renew the heartbeat; return False if a later attempt has begun, or the case is cancelled or erased."""
    attempt = EvaluatedCase.objects.filter(pk=row.pk, status=CaseStatus.RUNNING, attempts=row.attempts)
    try:
        return bool(attempt.update(heartbeat_at=Now()))
    except DatabaseError:  # PostgreSQL may be away for a moment
        logger.warning("The heartbeat of case %s was not written", row.pk, exc_info=True)
        # The next query opens a new connection. True: an attempt must not stop for a short outage; if it lasts, the
        # sweep queues the case again.
        connection.close()
        return True


def _masked(model: M) -> M:
    """Return a copy with masked secrets. If the mask makes a field invalid, return the model unchanged."""
    try:
        return model.model_validate(mask(as_values(model)))
    except ValidationError:
        return model
