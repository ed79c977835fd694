"""Metrics without a judge: the calls in each match type, and the words of the final response."""

from __future__ import annotations

import pytest

from runtime.errors import EvaluationError
from runtime.evaluation.base_metric import MetricResult
from runtime.evaluation.computed_metrics import rouge_1
from runtime.evaluation.eval_case import Invocation
from runtime.evaluation.eval_config import DEFAULT_CONFIG, EvalConfig
from runtime.evaluation.metrics import METRICS, metrics_of
from tests.unit.runtime.evaluation.builders import call, called

A, B, C = call("a", n=1), call("b"), call("c")


async def measured(criteria: dict[str, object], *pairs: tuple[Invocation, Invocation]) -> MetricResult:
    (metric,) = metrics_of(EvalConfig.model_validate({"criteria": criteria}))
    actual, expected = zip(*pairs, strict=True)
    return await metric.evaluate(actual, expected)


@pytest.mark.parametrize(
    ("match_type", "actual", "expected", "score"),
    [
        ("EXACT", [A, B], [A, B], 1.0),
        ("EXACT", [A, B], [B, A], 0.0),
        ("EXACT", [A, B, C], [A, B], 0.0),
        ("EXACT", [], [], 1.0),
        ("IN_ORDER", [C, A, C, B], [A, B], 1.0),
        ("in-order", [B, A], [A, B], 0.0),
        ("IN_ORDER", [A], [A, A], 0.0),
        ("IN_ORDER", [A], [], 1.0),
        ("any order", [C, B, A], [A, B], 1.0),
        ("ANY_ORDER", [A, B], [A, A], 0.0),
        (2, [], [A], 0.0),
        ("EXACT", [call("a", n=2)], [A], 0.0),
        ("EXACT", [call("adk_request_confirmation"), A], [A], 1.0),
    ],
)
async def test_the_calls_match_as_the_match_type_says(
    match_type: object, actual: list[object], expected: list[object], score: float
) -> None:
    criterion = {"threshold": 1.0, "match_type": match_type}
    pair = (called(*actual), called(*expected))  # type: ignore[arg-type]
    found = await measured({"tool_trajectory_avg_score": criterion}, pair)
    assert (found.score, found.is_failed) == (score, score < 1.0)


async def test_only_the_names_of_tools_count_when_arguments_are_ignored() -> None:
    criterion = {"threshold": 1.0, "ignoreArgs": True}
    found = await measured({"tool_trajectory_avg_score": criterion}, (called(call("a")), called(A)))
    assert found.score == 1.0


async def test_the_score_of_a_case_is_the_mean_of_its_invocations() -> None:
    found = await measured({"tool_trajectory_avg_score": 0.5}, (called(A), called(A)), (called(), called(A)))
    assert (found.score, found.is_failed) == (0.5, False)
    assert [one.score for one in found.invocations] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("text", "expected", "score"),
    [
        ("Your order has shipped.", "your ORDER has shipped", 1.0),
        ("Orders shipping", "order shipped", 1.0),
        ("the cat", "the dog", 0.5),
        ("one two", "one two three four", 2 * 2 / 6),
        ("one one", "one", 2 / 3),
        ("", "one", 0.0),
        ("你好", "好的", 0.5),
        ("สวัสดี", "สวัสดี", 1.0),
        ("ﬁne ①", "fine 1", 1.0),
        ("مرحبا بك", "مرحبا", 2 / 3),
        ("a\u202eb\0c", "a b c", 1.0),
    ],
)
def test_words_of_any_script_are_compared_by_their_stems(text: str, expected: str, score: float) -> None:
    assert rouge_1(text, expected) == pytest.approx(score)


async def test_an_invocation_without_an_expected_response_has_no_score() -> None:
    pairs = ((called(answer="Hello"), called()), (called(answer="Hello"), called(answer="Hello")))
    found = await measured({"response_match_score": 0.8}, *pairs)
    assert [one.score for one in found.invocations] == [None, 1.0] and found.score == 1.0
    nothing = await measured({"response_match_score": 0.8}, pairs[0])
    assert nothing.score is None and not nothing.is_failed


def test_the_criteria_of_google_adk_apply_without_a_file() -> None:
    found = {metric.name: metric.threshold for metric in metrics_of(DEFAULT_CONFIG)}
    assert found == {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}


@pytest.mark.parametrize(
    ("criteria", "said"),
    [
        ({}, "Give at least one of the criteria tool_trajectory_avg_score, response_match_score"),
        (
            {"response_evaluation_score": 0.8},
            "criteria.response_evaluation_score: there is no such metric. "
            f"The metrics are {', '.join(METRICS)} and custom_metrics.",
        ),
        ({"items": 1.0}, "criteria.items: there is no such metric."),
        (
            {"tool_trajectory_avg_score": {"threshold": 1, "match_type": "FUZZY"}},
            "criteria.tool_trajectory_avg_score.match_type: Give one of EXACT, IN_ORDER, ANY_ORDER.",
        ),
        (
            {"tool_trajectory_avg_score": {"threshold": 1, "match_typ": "EXACT"}},
            "criteria.tool_trajectory_avg_score: 'match_typ' is no field of this criterion. The fields are threshold, ",
        ),
        (
            {"token_usage_v1": 100},
            "criteria.token_usage_v1: it is reported for every case, and has no threshold.",
        ),
        (
            {"safety_v1": {"threshold": 1, "rubrics": []}},
            "criteria.safety_v1: 'rubrics' is no field of this criterion.",
        ),
        (
            {"final_response_match_v2": {"threshold": 1, "judge_model_options": {"num_samples": 0}}},
            "criteria.final_response_match_v2.judge_model_options.num_samples: Input should be greater",
        ),
        (
            {"final_response_match_v2": {"threshold": 1, "judgeModelOptions": {"judgeModel": "no-such"}}},
            "criteria.final_response_match_v2: Model 'no-such' not found",
        ),
    ],
)
def test_an_error_of_a_criterion_names_the_field(criteria: dict[str, object], said: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        metrics_of(EvalConfig.model_validate({"criteria": criteria}))
    assert str(caught.value).startswith(said)
