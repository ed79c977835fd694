"""Eval sets that are written and run from adk-web, by staff with the right."""

import asyncio
from typing import Any

from django.http import HttpRequest
from pydantic import ValidationError

from runtime.errors import EvaluationError
from runtime.evaluation.eval_case import EvalCase
from runtime.evaluation.eval_config import EvalConfig
from runtime.evaluation.eval_set import EvalSet
from runtime.evaluation.json_files import sentence_of
from runtime.evaluation.metrics import METRICS
from sessions_app.api.adk.names import AdkSchema, session_of
from sessions_app.contrib.evaluation.adk_api import CaseResult, case_result, reader_of
from sessions_app.contrib.evaluation.adk_api import router as router
from sessions_app.contrib.evaluation.comparison import LARGE_COLUMNS
from sessions_app.contrib.evaluation.set_files import changed_set, create_set, delete_set
from sessions_app.contrib.evaluation.sources import eval_set_of
from sessions_app.contrib.evaluation.staff_reader import RUN, StaffReader
from sessions_app.contrib.evaluation.start import start_evaluation
from sessions_app.errors import InvalidInputError, NotFoundError
from sessions_app.models import Evaluation, Scope
from sessions_app.process.threads import in_thread

LOOK_SECONDS = 0.5
MAX_LOOKS = 1_200  # in ten minutes
SETS = "/dev/apps/{app_name}/eval-sets"
OLD_SET = "/dev/apps/{app_name}/eval_sets/{eval_set_id}"
CASE = OLD_SET + "/evals/{eval_case_id}"


class SetName(AdkSchema):
    """Id of a set to create."""

    eval_set_id: str


class NewSet(AdkSchema):
    """An eval set to create. It begins without cases."""

    eval_set: SetName


class NewCase(AdkSchema):
    """A conversation of the caller to add as a case."""

    eval_id: str
    session_id: str
    user_id: str


class ChosenMetric(AdkSchema):
    """A metric with its criterion, or with its threshold only."""

    metric_name: str
    threshold: float | None = None
    criterion: dict[str, Any] | None = None


class Run(AdkSchema):
    """Cases to run, all without a choice, and the metrics.

    Attributes:
        eval_ids: google-adk's older name of `eval_case_ids`.
        user_simulator_config: the simulated user of cases with a scenario.
    """

    eval_case_ids: list[str] = []
    eval_ids: list[str] = []
    eval_metrics: list[ChosenMetric]
    user_simulator_config: dict[str, Any] | None = None


class RunResults(AdkSchema):
    """Outcome of a run."""

    run_eval_results: list[CaseResult]


@router.post(SETS, response=dict[str, Any])
async def create_eval_set(request: HttpRequest, app_name: str, new: NewSet) -> dict[str, Any]:
    """Create an eval set without cases, as a file beside the agents."""

    def create() -> EvalSet:
        return create_set(_writer(request, app_name).app_name, new.eval_set.eval_set_id)

    return (await in_thread(create)).model_dump(mode="json", exclude_none=True)


@router.delete(SETS + "/{eval_set_id}")
async def delete_eval_set(request: HttpRequest, app_name: str, eval_set_id: str) -> None:
    """Delete the file of an eval set. google-adk's page asks for this; its server has no such address."""
    await in_thread(lambda: delete_set(_writer(request, app_name).app_name, eval_set_id))


@router.post(OLD_SET + "/add_session")
async def add_session(request: HttpRequest, app_name: str, eval_set_id: str, new: NewCase) -> None:
    """Add a conversation of the caller to an eval set, with secrets masked."""
    await in_thread(_writer, request, app_name)
    session = await session_of(request, Scope.READ, app_name, new.user_id, new.session_id)
    recorded = (await eval_set_of(eval_set_id, [session.pk])).eval_cases
    if not recorded:
        raise InvalidInputError("The conversation has no message yet.", field="sessionId")
    case = recorded[0].model_copy(update={"eval_id": new.eval_id})

    def add() -> None:
        with changed_set(app_name, eval_set_id) as found:
            if any(known.eval_id == new.eval_id for known in found.eval_cases):
                raise InvalidInputError(f"The set has a case {new.eval_id!r} already.", field="evalId")
            found.eval_cases.append(case)

    await in_thread(add)


@router.put(CASE)
async def update_eval(
    request: HttpRequest, app_name: str, eval_set_id: str, eval_case_id: str, updated: EvalCase
) -> None:
    """Replace a case of an eval set."""

    def update() -> None:
        writer = _writer(request, app_name)
        if updated.eval_id != eval_case_id:
            raise InvalidInputError("The case has another id than the address.", field="evalId")
        with changed_set(writer.app_name, eval_set_id) as found:
            found.eval_cases[_position(found, eval_case_id)] = updated

    await in_thread(update)


@router.delete(CASE)
async def delete_eval(request: HttpRequest, app_name: str, eval_set_id: str, eval_case_id: str) -> None:
    """Delete a case of an eval set."""

    def delete() -> None:
        with changed_set(_writer(request, app_name).app_name, eval_set_id) as found:
            del found.eval_cases[_position(found, eval_case_id)]

    await in_thread(delete)


@router.post(SETS + "/{eval_set_id}/run", response=RunResults)
async def run_eval(request: HttpRequest, app_name: str, eval_set_id: str, run: Run) -> RunResults:
    """Run cases of an eval set in the jobs processes, and return their scores, after ten minutes those so far."""
    evaluation = await in_thread(lambda: _start(_writer(request, app_name), eval_set_id, run))
    for _ in range(MAX_LOOKS):
        if await in_thread(_has_ended, evaluation):
            break
        await asyncio.sleep(LOOK_SECONDS)
    return await in_thread(_results, evaluation)


@router.get("/dev/apps/{app_name}/metrics-info", response=dict[str, Any])
async def list_metrics(request: HttpRequest, app_name: str) -> dict[str, Any]:
    """List the metrics that a run may have, as `MetricInfo` of google-adk describes them."""
    await in_thread(reader_of, request, app_name)
    metrics = []
    for name, metric in METRICS.items():
        description, _, _ = (metric.__doc__ or "").partition("\n")
        score = {"interval": {"minValue": 0.0, "maxValue": 1.0}}
        metrics.append({"metricName": name, "description": description, "metricValueInfo": score})
    return {"metricsInfo": metrics}


def _writer(request: HttpRequest, app_name: str) -> StaffReader:
    return reader_of(request, app_name, RUN)


def _position(eval_set: EvalSet, eval_id: str) -> int:
    for position, case in enumerate(eval_set.eval_cases):
        if case.eval_id == eval_id:
            return position
    raise NotFoundError(f"The eval set {eval_set.eval_set_id!r} has no case {eval_id!r}.")


def _start(reader: StaffReader, set_id: str, run: Run) -> Evaluation:
    try:
        found = reader.eval_set(set_id)
    except NotFoundError as error:  # google-adk's server answers 400
        raise InvalidInputError(str(error), field="path.eval_set_id") from error
    chosen = run.eval_case_ids or run.eval_ids
    if chosen:
        found.eval_cases = [case for case in found.eval_cases if case.eval_id in chosen]
    criteria = {metric.metric_name: metric.criterion or metric.threshold for metric in run.eval_metrics}
    try:
        config = EvalConfig.model_validate(
            {"criteria": criteria, "userSimulatorConfig": run.user_simulator_config}
        )
    except ValidationError as error:
        raise EvaluationError(sentence_of(error)) from error
    return start_evaluation(reader.app_name, found, config)


def _has_ended(evaluation: Evaluation) -> bool:
    evaluation.refresh_from_db(fields=["finished_at"])
    return evaluation.finished_at is not None


def _results(evaluation: Evaluation) -> RunResults:
    cases = evaluation.cases.defer(*LARGE_COLUMNS).order_by("position")
    return RunResults(run_eval_results=[case_result(evaluation, case) for case in cases])
