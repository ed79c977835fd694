"""Eval sets and criteria in files: both spellings of the names, and errors that name file and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import EvaluationError
from runtime.evaluation.eval_case import InvocationEvents, get_all_tool_calls, get_all_tool_responses
from runtime.evaluation.eval_config import DEFAULT_CONFIG
from runtime.evaluation.json_files import config_beside, load_eval_config, load_eval_set

MESSAGE = {"user_content": {"parts": [{"text": "Hello"}], "role": "user"}}
CASE = {"eval_id": "greets", "conversation": [MESSAGE]}


def set_with(*cases: Any, **fields: Any) -> str:
    return json.dumps({"eval_set_id": "greetings", "eval_cases": list(cases), **fields})


def test_a_set_of_adk_web_is_read_with_its_events(tmp_path: Path) -> None:
    events = [
        {
            "author": "clerk",
            "content": {"parts": [{"functionCall": {"id": "c", "name": "price", "args": {"item": "lamp"}}}]},
            "invocationIndex": 0,
        },
        {"author": "clerk", "content": {"parts": [{"functionResponse": {"id": "c", "response": {}}}]}},
        {"author": "clerk"},
    ]
    invocation = {"userContent": MESSAGE["user_content"], "intermediateData": {"invocationEvents": events}}
    case = {
        "evalId": "a",
        "conversation": [invocation],
        "sessionInput": {"appName": "x", "userId": "u", "more": 1},
    }
    (tmp_path / "a.evalset.json").write_text(set_with(case, extra="ignored"))
    (found,) = load_eval_set(tmp_path / "a.evalset.json").eval_cases
    data = (found.conversation or [])[0].intermediate_data
    assert isinstance(data, InvocationEvents)
    assert [one.name for one in get_all_tool_calls(data)] == ["price"]
    assert [one.id for one in get_all_tool_responses(data)] == ["c"]
    assert get_all_tool_calls(None) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "Invalid JSON"),
        ("\ufeff{}", "Invalid JSON"),
        ('{"eval_set_id": "\\ud800", "eval_cases": []}', "Invalid JSON"),
        ('"a"', "Input should be an object"),
        ("[]", "eval_cases.0.conversation: the case has no message"),
        ('[{"question": "Hi"}]', "0.query: Field required"),
        ('[{"name": "a", "data": [{}]}]', "0.data.0.query: Field required"),
        ("[", "Invalid JSON"),
        ("{}", "eval_set_id: Field required"),
        (set_with(), "eval_cases: a set has 1 to 1000 cases, not 0"),
        (set_with(*[CASE] * 1001), "eval_cases: a set has 1 to 1000 cases, not 1001"),
        (set_with("items"), "eval_cases.0: Input should be an object"),
        (set_with(CASE, CASE), "eval_cases.1.eval_id: another case is called 'greets'"),
        (set_with({**CASE, "eval_id": "a\0"}), "eval_cases.0.eval_id: an id has 1 to 200 characters"),
        (set_with({**CASE, "eval_id": "x" * 201}), "eval_cases.0.eval_id: an id has 1 to 200 characters"),
        (set_with({**CASE, "conversation": []}), "eval_cases.0.conversation: the case has no message"),
        (
            set_with({"eval_id": "a", "conversation_scenario": {"starting_prompt": "Hi"}}),
            "eval_cases.0.conversation_scenario.conversationPlan: Field required",
        ),
        (set_with({"eval_id": "a"}), "eval_cases.0: Give the case a conversation or a conversation_scenario"),
        (set_with({**CASE, "conversation": [{}]}), "eval_cases.0.conversation.0.userContent: Field required"),
        (
            set_with({**CASE, "conversation": [{**MESSAGE, "answer": 1}]}),
            "eval_cases.0.conversation.0.answer: there is no such field. Correct its name, or delete it",
        ),
        ("[" * 100_000, "Invalid JSON"),
    ],
)
def test_an_error_in_a_set_names_the_file_and_the_field(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.evalset.json"
    path.write_text(text)
    with pytest.raises(EvaluationError) as caught:
        load_eval_set(path)
    assert str(caught.value).startswith(f"{path}: {said}")


def test_a_missing_file_and_a_directory_are_named(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="There is no file"):
        load_eval_set(tmp_path / "none.json")
    with pytest.raises(EvaluationError, match="cannot be read: Is a directory"):
        load_eval_set(tmp_path)


@pytest.mark.parametrize(
    ("criteria", "said"),
    [
        (
            {"response_match_score": "high"},
            "criteria.response_match_score.threshold: Input should be a valid number",
        ),
        ({"response_match_score": {}}, "criteria.response_match_score.threshold: Field required"),
        ({"response_match_score": None}, "criteria.response_match_score.threshold: Input should be"),
        ([], "criteria: Input should be an object"),
    ],
)
def test_an_error_in_the_criteria_names_the_field(tmp_path: Path, criteria: Any, said: str) -> None:
    path = tmp_path / "test_config.json"
    path.write_text(json.dumps({"criteria": criteria}))
    with pytest.raises(EvaluationError) as caught:
        load_eval_config(path)
    assert str(caught.value).startswith(f"{path}: {said}")


def test_a_threshold_that_is_no_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / "test_config.json").write_text('{"criteria": {"response_match_score": NaN}}')
    with pytest.raises(EvaluationError, match="threshold"):
        config_beside(tmp_path)


def test_the_criteria_beside_a_set_apply(tmp_path: Path) -> None:
    assert config_beside(tmp_path) is DEFAULT_CONFIG
    criterion = {"threshold": 1, "matchType": "IN_ORDER"}
    (tmp_path / "test_config.json").write_text(
        json.dumps({"criteria": {"tool_trajectory_avg_score": criterion}, "userSimulatorConfig": {}})
    )
    assert (
        config_beside(tmp_path).model_dump()["criteria"]["tool_trajectory_avg_score"]["matchType"]
        == "IN_ORDER"
    )
