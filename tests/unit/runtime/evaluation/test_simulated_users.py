"""A model plays the user of a scenario, by its plan, until it is done or has said as much as it may."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.errors import EvaluationError
from runtime.evaluation.eval_case import EvalCase
from runtime.evaluation.eval_config import EvalConfig
from runtime.evaluation.eval_set import EvalSet
from runtime.evaluation.json_files import check_eval_set
from runtime.evaluation.metrics import metrics_of
from runtime.evaluation.run_case import check_metrics, evaluate_case, run_case
from runtime.models import LLMRegistry
from runtime.testing import ScriptedModel

SCENARIO = {
    "starting_prompt": "I need a room.",
    "conversation_plan": "Book a room for two, with a view of the sea.",
    "user_persona": "NOVICE",
}


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    """The model of the simulated user, and of judges."""
    model = ScriptedModel()
    monkeypatch.setattr(LLMRegistry, "new_llm", lambda name: model)
    return model


def case(**scenario: Any) -> EvalCase:
    return EvalCase.model_validate({"eval_id": "a", "conversation_scenario": {**SCENARIO, **scenario}})


def app(*turns: str) -> App:
    return App(name="inn", root_agent=LlmAgent(name="host", model=ScriptedModel(turns=list(turns))))


async def messages(*answers: str, **config: Any) -> list[str | None]:
    settings = EvalConfig.model_validate({"user_simulator_config": config}).user_simulator_config
    found = await run_case(app(*answers), case(), simulator_config=settings)
    return [(invocation.user_content.parts or [])[0].text for invocation in found]


async def test_the_user_reads_the_answers_and_ends_the_conversation(user: ScriptedModel) -> None:
    user.turns = ["For two.", "Thank you. </finished>"]
    assert await messages("For how many?", "Room 7.") == ["I need a room.", "For two."]
    (part,) = user.requests[-1].contents[0].parts or []
    assert part.text
    for text in (SCENARIO["conversation_plan"], "NOVICE", "For how many?", "For two.", "Room 7."):
        assert text in part.text


async def test_the_conversation_ends_after_the_allowed_messages(user: ScriptedModel) -> None:
    user.turns = ["More."] * 5
    assert await messages("Yes.", "Yes.", max_allowed_invocations=2) == ["I need a room.", "More."]


async def test_a_user_without_words_breaks_the_case(user: ScriptedModel) -> None:
    user.turns = [" "]
    with pytest.raises(
        EvaluationError, match=r"The simulated user 'gemini-2\.5-flash' gave no message\. Name another"
    ):
        await messages("Yes.")


async def test_only_criteria_without_an_expected_conversation_judge_a_scenario(user: ScriptedModel) -> None:
    user.turns = ["</finished>"]
    actual = await run_case(app("Yes."), case())
    user.turns = ['{"verdicts": [{"rubric_id": "multi_turn_task_success_v1", "verdict": "yes"}]}'] * 5
    config = EvalConfig.model_validate({"criteria": {"multi_turn_task_success_v1": 1.0}})
    (result,) = await evaluate_case(metrics_of(config), case(), actual)
    assert result.score == 1.0
    config = EvalConfig.model_validate({"criteria": {"response_match_score": 1.0}})
    with pytest.raises(
        EvaluationError, match=r"criteria\.response_match_score: it compares with an expected"
    ):
        check_metrics(metrics_of(config), case())
    check_eval_set(EvalSet(eval_set_id="s", eval_cases=[case()]))
