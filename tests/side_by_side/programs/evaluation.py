"""Eval sets and criteria in JSON, and the scores of calls."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

from google.genai import types

from runtime.evaluation.eval_case import (
    EvalCase,
    IntermediateData,
    Invocation,
    SessionInput,
    get_all_tool_calls,
)
from runtime.evaluation.eval_config import EvalConfig
from runtime.evaluation.eval_metrics import JudgeModelOptions, RubricsBasedCriterion, ToolTrajectoryCriterion
from runtime.evaluation.eval_rubrics import Rubric, RubricContent
from runtime.evaluation.eval_set import EvalSet
from tests.side_by_side.program import program
from tests.side_by_side.world import World

CALLS = [("price", {"item": "lamp"}), ("price", {"item": "desk"}), ("order", {})]

OF_ADK_WEB = """{
  "eval_set_id": "shop", "name": null, "creation_timestamp": 5.0,
  "eval_cases": [{
    "evalId": "a lamp",
    "conversation": [{
      "invocationId": "e-1", "userContent": {"parts": [{"text": "How much?"}], "role": "user"},
      "finalResponse": {"parts": [{"text": "20"}], "role": "model"},
      "intermediateData": {"invocationEvents": [
        {"author": "clerk", "invocationIndex": 0, "toolUseIndex": 0,
         "content": {"parts": [{"functionCall": {"id": "c-1", "name": "price", "args": {"item": null}}}]}},
        {"author": "clerk", "content": {"parts": [{"functionResponse": {"id": "c-1", "response": {"price": 20}}}]}}
      ]},
      "creationTimestamp": 4.5
    }],
    "sessionInput": {"appName": "shop", "userId": "ada", "state": {"currency": "EUR"}, "more": 1},
    "finalSessionState": {"seen": true}, "more": {"kept": true}
  }]
}"""


def dumped(model: Any) -> Any:
    return json.loads(model.model_dump_json(exclude_none=True))


@program
async def a_set_of_adk_web_is_read(world: World) -> None:
    found = EvalSet.model_validate_json(OF_ADK_WEB)
    (case,) = found.eval_cases
    calls = get_all_tool_calls((case.conversation or [])[0].intermediate_data)
    world.note(found=dumped(found), calls=[dumped(call) for call in calls])


@program
async def a_set_is_written(world: World) -> None:
    picture = types.Part.from_bytes(data=b"\xff\x00picture", mime_type="image/png")
    data = IntermediateData(
        tool_uses=[types.FunctionCall(id="c-1", name="price", args={"item": None})],
        tool_responses=[types.FunctionResponse(id="c-1", name="price", response={"price": 20})],
        intermediate_responses=[("clerk", [types.Part(text="One moment")])],
    )
    invocation = Invocation(
        user_content=types.Content(role="user", parts=[picture]),
        intermediate_data=data,
        rubrics=[Rubric(rubric_id="short", rubric_content=RubricContent(text_property="It is short."))],
    )
    begin = SessionInput(app_name="shop", user_id="ada", state={"seen": [1, None]})
    case = EvalCase(eval_id="a lamp", conversation=[invocation], session_input=begin)
    written = EvalSet(eval_set_id="shop", eval_cases=[case]).model_dump_json(exclude_none=True)
    world.note(written=json.loads(written), is_read=EvalSet.model_validate_json(written).eval_cases == [case])


@program
async def a_wrong_set_is_refused(world: World) -> None:
    message = {"user_content": {"parts": [{"text": "Hello"}]}}
    wrong: list[Any] = [
        {"eval_id": "a"},
        {"eval_id": "a", "conversation": [message], "conversation_scenario": {}},
        {"eval_id": "a", "conversation": [{}]},
        {"eval_id": "a", "conversation": [{**message, "answer": "x"}]},
        {"eval_id": "a", "conversation": [message], "session_input": {"app_name": "shop"}},
        {"conversation": [message]},
    ]
    for case in wrong:
        try:
            EvalCase.model_validate(case)
        except ValueError:
            world.note(case=case, is_refused=True)
        else:
            world.note(case=case, is_refused=False)


@program
async def criteria_are_read(world: World) -> None:
    rubric = {"rubricId": "short", "rubricContent": {"textProperty": "It is short."}}
    options = {"judgeModel": "judge", "numSamples": 3}
    criteria = {
        "tool_trajectory_avg_score": {"threshold": 1.0, "matchType": "in order", "ignoreArgs": True},
        "rubric_based_final_response_quality_v1": {
            "threshold": 0.5, "judgeModelOptions": options, "rubrics": [rubric],
        },
    }  # fmt: skip
    found = EvalConfig.model_validate_json(json.dumps({"criteria": criteria})).criteria
    calls = ToolTrajectoryCriterion.model_validate(found["tool_trajectory_avg_score"].model_dump())  # type: ignore[union-attr, unused-ignore]
    world.note(match_type=calls.match_type.name, ignore_args=calls.ignore_args)
    judged = found["rubric_based_final_response_quality_v1"]
    assert not isinstance(judged, float)
    world.note(judged=dumped(RubricsBasedCriterion.model_validate(judged.model_dump())))
    world.note(options=dumped(JudgeModelOptions()))


@program
async def calls_are_compared(world: World) -> None:
    lists = [called for length in range(3) for called in product(CALLS, repeat=length)]
    invocations = [_invocation(called) for called in lists]
    for match_type, ignores in product(("EXACT", "IN_ORDER", "ANY_ORDER"), (False, True)):
        criterion = {"threshold": 1.0, "match_type": match_type, "ignore_args": ignores}
        pairs = list(product(invocations, invocations))
        scores = await _scores("tool_trajectory_avg_score", criterion, pairs)
        world.note(**criterion, scores="".join(str(int(score)) for score in scores))


def _invocation(calls: Any) -> Invocation:
    uses = [types.FunctionCall(name=name, args=args) for name, args in calls]
    return Invocation(
        user_content=types.Content(role="user", parts=[types.Part(text="Go")]),
        intermediate_data=IntermediateData(tool_uses=uses),
    )


async def _scores(
    name: str, criterion: dict[str, Any], pairs: list[tuple[Invocation, Invocation]]
) -> list[float]:
    """Return the score of each pair by this package's own evaluator."""
    actual, expected = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    try:
        from runtime.evaluation.metrics import metrics_of
    except ModuleNotFoundError:
        from runtime.evaluation.trajectory_evaluator import TrajectoryEvaluator  # type: ignore[import-not-found]

        from runtime.evaluation.eval_metrics import EvalMetric

        metric = EvalMetric(metric_name=name, criterion=ToolTrajectoryCriterion.model_validate(criterion))
        found = TrajectoryEvaluator(eval_metric=metric).evaluate_invocations(actual, expected)
        return [result.score for result in found.per_invocation_results]
    (own,) = metrics_of(EvalConfig.model_validate({"criteria": {name: criterion}}))
    result = await own.evaluate(actual, expected)
    return [one.score or 0.0 for one in result.invocations]
