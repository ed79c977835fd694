"""Metrics of what an answer costs. They are reported for each case and have no threshold: no case fails by them."""

from collections.abc import Callable, Mapping, Sequence

from runtime.evaluation.base_metric import InvocationScore, MetricResult, mean_score
from runtime.evaluation.eval_case import Invocation, get_all_tool_calls


def efficiency_of(actual: Sequence[Invocation]) -> list[MetricResult]:
    """Return the results of all metrics in `MEASURES`; the scores are means over the invocations of a case."""
    results = []
    for name, measure in MEASURES.items():
        scores = [InvocationScore(score=measure(invocation)) for invocation in actual]
        results.append(MetricResult(metric=name, score=mean_score(scores), invocations=scores))
    return results


def _tool_calls(invocation: Invocation) -> float:
    return len(get_all_tool_calls(invocation.intermediate_data))


def _inference_calls(invocation: Invocation) -> float | None:
    return invocation.inference_calls


def _tokens(invocation: Invocation) -> float | None:
    return invocation.tokens


def _seconds(invocation: Invocation) -> float | None:
    return invocation.duration


MEASURES: Mapping[str, Callable[[Invocation], float | None]] = {
    "tool_call_count_v1": _tool_calls,
    "inference_call_count_v1": _inference_calls,
    "token_usage_v1": _tokens,
    "invocation_duration_v1": _seconds,
}
"""Measures of an invocation by google-adk's names; None for what was not reported."""
