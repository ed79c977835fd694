"""Eval sets and results of evaluations, for adk-web: staff who are signed in read them."""

from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

from django.http import HttpRequest
from ninja import Router

from runtime.evaluation.base_metric import MetricResult
from sessions_app.api.access.callers import caller_of
from sessions_app.api.adk.names import AdkSchema
from sessions_app.base.client_address import client_address
from sessions_app.contrib.evaluation.comparison import LARGE_COLUMNS
from sessions_app.contrib.evaluation.staff_reader import StaffReader, cases_within
from sessions_app.errors import InvalidInputError, NotFoundError, PermissionDeniedError
from sessions_app.models import CaseStatus, EvaluatedCase, Evaluation
from sessions_app.process.threads import in_thread

MAX_RESULTS = 50


class Verdict(IntEnum):
    """Outcome of a case, or of a metric in it, by ADK's number."""

    PASSED = 1
    FAILED = 2
    NOT_EVALUATED = 3
    INFORMATIONAL = 4


class MetricScore(AdkSchema):
    """Score of a case by a metric, without the reasons of a judge, which quote the conversation."""

    metric_name: str
    threshold: float | None
    score: float | None
    eval_status: Verdict
    details: dict[str, str] = {}


class BareInvocation(AdkSchema):
    """An invocation without the texts that google-adk's server returns."""

    invocation_id: str = ""
    user_content: dict[str, str] = {}
    creation_timestamp: float = 0.0


class InvocationResult(AdkSchema):
    """Scores of an invocation."""

    actual_invocation: BareInvocation = BareInvocation()
    eval_metric_results: list[MetricScore]


class CaseResult(AdkSchema):
    """Scores of a case. The site stores no session for a case: `session_id` names none."""

    eval_set_id: str
    eval_id: str
    final_eval_status: Verdict
    overall_eval_metric_results: list[MetricScore]
    eval_metric_result_per_invocation: list[InvocationResult]
    session_id: str


class SetResult(AdkSchema):
    """Result of an evaluation."""

    eval_set_result_id: str
    eval_set_result_name: str
    eval_set_id: str
    eval_case_results: list[CaseResult]
    creation_timestamp: float


VERDICTS = {CaseStatus.PASSED: Verdict.PASSED, CaseStatus.FAILED: Verdict.FAILED}
router = Router(tags=["evaluation"], by_alias=True, exclude_none=True)


@router.get("/dev/apps/{app_name}/eval_sets", response=list[str])
async def list_eval_sets(request: HttpRequest, app_name: str) -> list[str]:
    """List the ids of the eval sets beside the agents of the app, and of all evaluated sets."""
    return await in_thread(lambda: reader_of(request, app_name).set_ids())


@router.get("/dev/apps/{app_name}/eval_sets/{eval_set_id}/evals", response=list[str])
async def list_evals(request: HttpRequest, app_name: str, eval_set_id: str) -> list[str]:
    """List the ids of the cases of an eval set."""
    try:
        return await in_thread(lambda: reader_of(request, app_name).case_ids(eval_set_id))
    except NotFoundError as error:  # google-adk's server answers 400
        raise InvalidInputError(str(error), field="path.eval_set_id") from error


@router.get("/dev/apps/{app_name}/eval_sets/{eval_set_id}/evals/{eval_case_id}", response=dict[str, Any])
async def get_eval(
    request: HttpRequest, app_name: str, eval_set_id: str, eval_case_id: str
) -> dict[str, Any]:
    """Return a case of an eval set."""
    address = client_address(request)
    return await in_thread(lambda: reader_of(request, app_name).case(eval_set_id, eval_case_id, address))


@router.get("/dev/apps/{app_name}/eval_results", response=list[str])
async def list_eval_results(request: HttpRequest, app_name: str) -> list[str]:
    """List the ids of the last 50 evaluations of the app that have ended: adk-web asks for the result of each."""

    def ids() -> list[str]:
        ended = reader_of(request, app_name).evaluations().filter(finished_at__isnull=False)
        return [_id_of(evaluation) for evaluation in ended[:MAX_RESULTS]]

    return await in_thread(ids)


@router.get("/dev/apps/{app_name}/eval_results/{path:eval_result_id}", response=SetResult)
async def get_eval_result(request: HttpRequest, app_name: str, eval_result_id: str) -> SetResult:
    """Return the scores of an evaluation, without texts of the conversations."""
    return await in_thread(lambda: _result(reader_of(request, app_name), eval_result_id))


def reader_of(request: HttpRequest, app_name: str, *rights: str) -> StaffReader:
    """Return the reader for the member of staff behind a request. Raise as `StaffReader`."""
    caller = caller_of(request)
    if caller.key is not None:
        raise PermissionDeniedError("A key does not read evaluations. Sign in as staff.")
    return StaffReader(caller.user, app_name, *rights)


def _id_of(evaluation: Evaluation) -> str:
    """Return the id as adk-web makes it from the parts, for the address of a result."""
    return f"{evaluation.app_name}_{evaluation.set_id}_{evaluation.created_at.timestamp()}"


def _result(reader: StaffReader, result_id: str) -> SetResult:
    try:
        # Only the time at the end of the id is certain: names of apps and sets may have underscores, too.
        begun = datetime.fromtimestamp(float(result_id.rpartition("_")[2]), UTC)
    except (ValueError, OverflowError, OSError):
        begun = None
    found = reader.evaluations().filter(created_at=begun) if begun else []
    evaluation = next((row for row in found if _id_of(row) == result_id), None)
    if evaluation is None:
        raise NotFoundError(f"There is no result {result_id!r}.")
    cases = cases_within(evaluation, reader.remits).defer(*LARGE_COLUMNS).order_by("position")
    return SetResult(
        eval_set_result_id=result_id,
        eval_set_result_name=result_id.replace("/", "_"),
        eval_set_id=evaluation.set_id,
        eval_case_results=[case_result(evaluation, case) for case in cases],
        creation_timestamp=evaluation.created_at.timestamp(),
    )


def case_result(evaluation: Evaluation, case: EvaluatedCase) -> CaseResult:
    """Return the scores of a case."""
    results = list(map(MetricResult.model_validate, case.results))
    by_invocation = []
    for number in range(min((len(result.invocations) for result in results), default=0)):
        metrics = [_score(result, result.invocations[number].score) for result in results]
        by_invocation.append(InvocationResult(eval_metric_results=metrics))
    return CaseResult(
        eval_set_id=evaluation.set_id,
        eval_id=case.eval_id,
        final_eval_status=VERDICTS.get(CaseStatus(case.status), Verdict.NOT_EVALUATED),
        overall_eval_metric_results=[_score(result, result.score) for result in results],
        eval_metric_result_per_invocation=by_invocation,
        session_id=f"{evaluation.pk}-{case.position}",
    )


def _score(result: MetricResult, score: float | None) -> MetricScore:
    verdict = Verdict.NOT_EVALUATED
    if result.threshold is None:
        verdict = Verdict.INFORMATIONAL
    elif score is not None:
        verdict = Verdict.FAILED if score < result.threshold else Verdict.PASSED
    return MetricScore(
        metric_name=result.metric, threshold=result.threshold, score=score, eval_status=verdict
    )
