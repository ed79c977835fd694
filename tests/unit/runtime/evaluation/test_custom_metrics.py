"""A criterion may be a function of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runtime.errors import EvaluationError
from runtime.evaluation.conversation_scenarios import ConversationScenario
from runtime.evaluation.eval_case import EvalCase, Invocation
from runtime.evaluation.eval_config import EvalConfig
from runtime.evaluation.eval_metrics import EvalMetric
from runtime.evaluation.evaluator import EvaluationResult, PerInvocationResult
from runtime.evaluation.metrics import metrics_of
from runtime.evaluation.run_case import evaluate_case
from tests.unit.runtime.evaluation.builders import called

HERE = "tests.unit.runtime.evaluation.test_custom_metrics"


def brevity(
    metric: EvalMetric,
    actual: list[Invocation],
    expected: list[Invocation] | None,
    scenario: ConversationScenario | None,
) -> EvaluationResult:
    assert metric.metric_name == "brevity" and metric.criterion and expected and scenario is None
    scores = [
        1.0 / len(invocation.final_response.parts or []) for invocation in actual if invocation.final_response
    ]
    results = [
        PerInvocationResult(actual_invocation=invocation, score=score)
        for invocation, score in zip(actual, scores, strict=True)
    ]
    return EvaluationResult(overall_score=min(scores), per_invocation_results=results)


async def later(*given: Any) -> EvaluationResult:
    return brevity(*given)


def nothing(*given: Any) -> None:
    """Return no result."""


def config(function: Callable[..., Any] | str, **more: Any) -> EvalConfig:
    name = function if isinstance(function, str) else f"{HERE}.{function.__name__}"
    metric = {"code_config": {"name": name}, **more}
    return EvalConfig.model_validate({"criteria": {"brevity": 0.5}, "custom_metrics": {"brevity": metric}})


CASE = EvalCase(eval_id="a", conversation=[called(answer="20 EUR")])


@pytest.mark.parametrize("function", [brevity, later])
async def test_a_function_gives_the_score(function: Callable[..., Any]) -> None:
    info = {"metric_name": "brevity", "metric_value_info": {"interval": {"min_value": 0, "max_value": 1}}}
    metrics = metrics_of(config(function, metric_info=info, description="Short."))
    (result,) = await evaluate_case(metrics, CASE, [called(answer="20 EUR")])
    assert (result.metric, result.score, result.is_failed) == ("brevity", 1.0, False)
    assert [score.score for score in result.invocations] == [1.0]


async def test_a_function_without_a_result_breaks_the_case() -> None:
    with pytest.raises(EvaluationError, match="The function of brevity gave no EvaluationResult"):
        await evaluate_case(metrics_of(config(nothing)), CASE, [called(answer="20 EUR")])


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("os.system", "'os.system' is not allowed: files do not refer to 'os'."),
        (f"{HERE}.none", f"'{HERE}.none' cannot be imported"),
        (f"{HERE}.HERE", f"'{HERE}.HERE' is no function."),
        ("brevity", "'brevity' has no module."),
    ],
)
def test_a_function_that_cannot_be_called_is_named(function: str, said: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        metrics_of(config(function))
    assert str(caught.value).startswith(f"custom_metrics.brevity.code_config.name: {said}")


def test_a_metric_without_a_threshold_is_named() -> None:
    found = config(brevity).model_copy(update={"criteria": {}})
    found.criteria["response_match_score"] = config(brevity).criteria["brevity"]
    with pytest.raises(
        EvaluationError, match=r"custom_metrics\.brevity: the metric has no threshold\. Give criteria"
    ):
        metrics_of(found)
