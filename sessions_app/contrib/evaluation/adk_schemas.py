"""Result of an evaluation with ADK's names."""

from __future__ import annotations

from enum import IntEnum

from sessions_app.api.adk.schemas import AdkSchema


class Verdict(IntEnum):
    """Outcome of a case, or of a metric in it, by ADK's number."""

    PASSED = 1
    FAILED = 2
    NOT_EVALUATED = 3


class MetricScore(AdkSchema):
    """Score of a case by a metric, without the reasons of a judge, which quote the conversation."""

    metric_name: str
    threshold: float
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
