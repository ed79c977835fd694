"""Result of an evaluation with ADK's names."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from sessions_app.api.adk.schemas import AdkSchema


class Verdict(IntEnum):
    """Outcome of a case, or of a metric in it, by ADK's number."""

    PASSED = 1
    FAILED = 2
    NOT_EVALUATED = 3


class MetricScore(AdkSchema):
    """Score of a case by one metric, without the reasons of a judge, which quote the conversation."""

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
    """Scores of one invocation."""

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


_OPERATION = "sessions_app_contrib_evaluation_adk_api_"
_SCORE = {
    "metricName": "response_match_score",
    "threshold": 0.8,
    "score": 0.91,
    "evalStatus": 1,
    "details": {},
}
EXAMPLES: dict[str, Any] = {
    "SetResult": {
        "evalSetResultId": "help_desk_refunds_1777885931.5",
        "evalSetResultName": "help_desk_refunds_1777885931.5",
        "evalSetId": "refunds",
        "evalCaseResults": [
            {
                "evalSetId": "refunds",
                "evalId": "late",
                "finalEvalStatus": 1,
                "overallEvalMetricResults": [_SCORE],
                "evalMetricResultPerInvocation": [
                    {
                        "actualInvocation": {"invocationId": "", "userContent": {}, "creationTimestamp": 0.0},
                        "evalMetricResults": [_SCORE],
                    }
                ],
                "sessionId": "8c1f2b9e-5d0a-4f36-9a71-2f4f0c6f7f10-1",
            }
        ],
        "creationTimestamp": 1777885931.5,
    },
    f"{_OPERATION}list_eval_sets": ["refunds"],
    f"{_OPERATION}list_evals": ["late"],
    f"{_OPERATION}get_eval": {
        "evalId": "late",
        "conversation": [{"userContent": {"role": "user", "parts": [{"text": "Where is my refund?"}]}}],
    },
    f"{_OPERATION}list_eval_results": ["help_desk_refunds_1777885931.5"],
}
"""Examples for the document of the API, by schema or operation."""
