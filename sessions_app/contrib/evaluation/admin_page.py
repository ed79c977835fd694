"""Data of an evaluation's page: its criteria, and its cases with the expected and the actual calls and answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from django.core.paginator import Page, Paginator
from django.db.models import Case, IntegerField, QuerySet, Value, When
from django.http import QueryDict

from runtime import types
from runtime.evaluation.base_metric import InvocationScore, MetricResult
from runtime.evaluation.eval_case import EvalCase, Invocation, get_all_tool_calls
from runtime.evaluation.run_case import expected_of
from runtime.evaluation.texts import content_text
from sessions_app.admin.framework.links import session_url
from sessions_app.contrib.evaluation.comparison import (
    LARGE_COLUMNS,
    CaseReport,
    Change,
    count_changes,
    reports_of,
)
from sessions_app.models import CaseStatus, EvaluatedCase, Evaluation
from sessions_app.rendering.audit_values import format_call, truncate

CASES_PER_PAGE = 20


@dataclass(frozen=True)
class Judgement:
    """Score of a message of a case by a metric, with the reasons of a judge."""

    metric: str
    score: float | None
    reasons: list[str]


@dataclass(frozen=True)
class Exchange:
    """A message of a case with the expected and the actual calls and answers.

    Attributes:
        is_missing: True if the message has no answer, or none yet.
        judgements: scores of this message. Scores without reasons are left out of a case with one message: the table of
            the case has them.
    """

    message: str
    expected_calls: list[str]
    actual_calls: list[str]
    expected_answer: str
    actual_answer: str
    is_missing: bool
    judgements: list[Judgement]


@dataclass(frozen=True)
class CaseView:
    """A case as the page shows it.

    Attributes:
        exchanges: the messages in order; empty without the right to read texts.
        error_detail: empty without the right to see details of errors.
        session_url: page of the copied conversation; empty without the right to read texts.
    """

    report: CaseReport
    exchanges: list[Exchange]
    error_detail: str
    session_url: str


@dataclass(frozen=True)
class EvaluationPage:
    """Template context of the page."""

    criteria: list[tuple[str, float]]
    changes: list[tuple[Change, int]]
    page: Page[EvaluatedCase]
    cases: list[CaseView]
    shows_text: bool


def load_page(
    evaluation: Evaluation,
    cases: QuerySet[EvaluatedCase],
    query: QueryDict,
    *,
    shows_text: bool,
    shows_detail: bool,
) -> EvaluationPage:
    """Load the requested page. Failed, broken and cancelled cases come first.

    Args:
        cases: its cases within the remits of the user.
        query: query string; `p` is the number of the page.
    """
    without_words = cases.defer(*LARGE_COLUMNS)
    reports = reports_of(evaluation, without_words)
    # Words of conversations are not even loaded for users without the right to read them.
    hidden = set()
    if not shows_text:
        hidden |= {"case", "actual"}
    if not shows_detail:
        hidden.add("error_detail")
    ordered = cases.order_by(_passed_last(), "position").defer(*hidden)
    page = Paginator(ordered, CASES_PER_PAGE).get_page(query.get("p"))
    shown = reports_of(evaluation, page.object_list)  # type: ignore[arg-type]
    changes = count_changes(reports)
    criteria = evaluation.config.get("criteria", {})
    return EvaluationPage(
        criteria=[(name, criterion["threshold"]) for name, criterion in sorted(criteria.items())],
        changes=[(change, changes[change]) for change in Change if changes[change]],
        page=page,
        cases=[_view(report, shows_text=shows_text, shows_detail=shows_detail) for report in shown],
        shows_text=shows_text,
    )


def _passed_last() -> Case:
    passed = When(status=CaseStatus.PASSED, then=Value(1))
    return Case(passed, default=Value(0), output_field=IntegerField())


def _view(report: CaseReport, *, shows_text: bool, shows_detail: bool) -> CaseView:
    row = report.row
    exchanges: list[Exchange] = []
    address = ""
    if shows_text:
        exchanges = _exchanges(row)
        if row.session_id:
            address = session_url(row.session_id)
    return CaseView(
        report=report,
        exchanges=exchanges,
        error_detail=row.error_detail if shows_detail else "",
        session_url=address,
    )


def _exchanges(row: EvaluatedCase) -> list[Exchange]:
    actual = list(map(Invocation.model_validate, row.actual))
    expected = expected_of(EvalCase.model_validate(row.case), actual)
    results = list(map(MetricResult.model_validate, row.results))
    exchanges = []
    # A case that ends early has fewer actual messages than expected.
    for number, (wanted, came) in enumerate(zip_longest(expected, actual)):
        judgements = _judgements(results, number)
        if len(expected) == 1:
            judgements = [judgement for judgement in judgements if judgement.reasons]
        exchanges.append(_exchange(wanted, came, judgements))
    return exchanges


def _exchange(expected: Invocation, actual: Invocation | None, judgements: list[Judgement]) -> Exchange:
    actual_calls: list[str] = []
    actual_answer = ""
    if actual:
        actual_calls = _calls(actual)
        actual_answer = truncate(content_text(actual.final_response))
    return Exchange(
        message=truncate(content_text(expected.user_content)),
        expected_calls=_calls(expected),
        actual_calls=actual_calls,
        expected_answer=truncate(content_text(expected.final_response)),
        actual_answer=actual_answer,
        is_missing=actual is None,
        judgements=judgements,
    )


def _calls(invocation: Invocation) -> list[str]:
    calls: Iterable[types.FunctionCall] = get_all_tool_calls(invocation.intermediate_data)
    return [format_call(call.name or "", call.args) for call in calls]


def _judgements(results: Sequence[MetricResult], number: int) -> list[Judgement]:
    judgements = []
    for result in results:
        if number < len(result.invocations):
            score = result.invocations[number]
            judgements.append(Judgement(result.metric, score.score, _reasons(score)))
    return judgements


def _reasons(score: InvocationScore) -> list[str]:
    reasons = []
    if score.rationale:
        reasons.append(score.rationale)
    for rubric in score.rubrics:
        verdict = "yes" if rubric.score else "no"
        reasons.append(f"{rubric.rubric_id}: {verdict}. {rubric.rationale or ''}")
    return [truncate(reason) for reason in reasons]
