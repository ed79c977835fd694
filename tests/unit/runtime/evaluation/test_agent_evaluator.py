"""AgentEvaluator: a folder of eval sets is a test, whose failure names case, criterion, expected and actual outcome."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from runtime.agents import LlmAgent, SequentialAgent
from runtime.apps import App
from runtime.errors import ConfigurationError, EvaluationError
from runtime.evaluation.agent_evaluator import AgentEvaluator
from runtime.evaluation.eval_set import EvalSet
from runtime.plugins.base_plugin import BasePlugin
from runtime.tools import ToolContext
from tests.fakes import ScriptedModel, call

Install = Callable[..., None]
TURN = {
    "query": "How much?",
    "expected_tool_use": [{"tool_name": "price", "tool_input": {"item": "lamp"}}],
    "reference": "It costs 20 EUR.",
}


def price(item: str, tool_context: ToolContext) -> str:
    """Price."""
    return f"20 {tool_context.state.get('currency', 'EUR')}"


def clerk(*turns: Any, name: str = "clerk") -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(turns=list(turns)), tools=[price])


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Make an importable module `shop` with these names."""

    def make(**names: Any) -> None:
        module = ModuleType("shop")
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, "shop", module)

    return make


def write(path: Path, *turns: dict[str, Any], **criteria: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(turns or [TURN]))
    if criteria:
        (path.parent / "test_config.json").write_text(json.dumps({"criteria": criteria}))


async def test_all_sets_of_a_folder_pass(
    install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "prices" / "a.test.json")
    write(tmp_path / "words" / "b.evalset.json", response_match_score=0.5)
    both = [call("price", item="lamp"), "It costs 20 EUR."]
    install(root_agent=clerk(*both * 2, *both * 2))
    await AgentEvaluator.evaluate("shop", tmp_path)
    assert capsys.readouterr().out == "a a: passed\nb b: passed\n"


async def test_a_failure_names_all_cases_with_expected_and_actual_outcome(
    install: Install, tmp_path: Path
) -> None:
    write(tmp_path / "a.test.json", TURN, tool_trajectory_avg_score=1.0, response_match_score=0.8)
    write(tmp_path / "b.test.json")
    install(root_agent=clerk(call("price", item="desk"), "I am not sure.", RuntimeError("secret")))
    with pytest.raises(AssertionError) as raised:
        await AgentEvaluator.evaluate("shop", tmp_path, num_runs=1, print_detailed_results=False)
    message = str(raised.value)
    for line in (
        f"{tmp_path}/a.test.json:",
        "a failed: tool_trajectory_avg_score is 0.00, and at least 1.00 is needed.",
        '  expected: price({"item": "lamp"}) It costs 20 EUR.',
        '  actual:   price({"item": "desk"}) I am not sure.',
        "b is broken: Message 1 of the case failed: the agent raised an exception.",
    ):
        assert line in message
    assert "secret" not in message


async def test_the_mean_of_the_runs_counts(install: Install, tmp_path: Path) -> None:
    for needed, passes in ((0.5, True), (0.6, False)):
        write(tmp_path / "a.test.json", tool_trajectory_avg_score=needed)
        install(root_agent=clerk(call("price", item="lamp"), "20", "I do not know."))
        if passes:
            await AgentEvaluator.evaluate("shop", tmp_path / "a.test.json")
        else:
            with pytest.raises(AssertionError, match=r"tool_trajectory_avg_score is 0\.50"):
                await AgentEvaluator.evaluate("shop", tmp_path / "a.test.json")


async def test_a_list_of_turns_begins_with_the_session_of_a_file(install: Install, tmp_path: Path) -> None:
    write(tmp_path / "a.test.json", tool_trajectory_avg_score=1)
    (tmp_path / "session.json").write_text(
        '{"app_name": "x", "user_id": "ada", "state": {"currency": "CHF"}}'
    )
    agent = clerk(call("price", item="lamp"), "20")
    install(agent=ModuleType("agent"))
    vars(sys.modules["shop"].agent)["root_agent"] = agent
    session = tmp_path / "session.json"
    await AgentEvaluator.evaluate("shop", tmp_path, num_runs=1, initial_session_file=session)
    assert isinstance(agent.model, ScriptedModel)
    (part,) = agent.model.requests[-1].contents[-1].parts or []
    assert part.function_response and part.function_response.response == {"result": "20 CHF"}


class Seen(BasePlugin):
    """Plugin that counts the messages."""

    count = 0

    async def on_user_message_callback(self, **_: Any) -> None:
        self.count += 1


async def test_an_agent_of_the_tree_is_evaluated_with_the_plugins_of_its_app(
    install: Install, tmp_path: Path
) -> None:
    write(tmp_path / "a.test.json", tool_trajectory_avg_score=1)
    inner = clerk(call("price", item="lamp"), "20", name="inner")
    plugin = Seen(name="seen")
    root = SequentialAgent(name="all", sub_agents=[clerk("Never asked.", name="other"), inner])
    install(root_agent=root, app=App(name="shop", root_agent=root, plugins=[plugin]))
    await AgentEvaluator.evaluate("shop", tmp_path, num_runs=1, agent_name="inner")
    assert plugin.count == 1
    with pytest.raises(ConfigurationError, match="There is no agent 'none' below 'all'"):
        await AgentEvaluator.evaluate("shop", tmp_path, agent_name="none")


async def test_an_agent_may_be_made_by_a_function(install: Install, tmp_path: Path) -> None:
    agent = clerk(call("price", item="lamp"), "20")

    async def get_agent_async() -> tuple[LlmAgent, None]:
        return agent, None

    write(tmp_path / "a.test.json", tool_trajectory_avg_score=1)
    install(get_agent_async=get_agent_async)
    await AgentEvaluator.evaluate("shop", tmp_path, num_runs=1)
    assert isinstance(agent.model, ScriptedModel) and len(agent.model.requests) == 2


async def test_a_criterion_without_anything_to_compare_is_no_pass(install: Install) -> None:
    message = {"user_content": {"parts": [{"text": "Hi"}]}}
    case = {"eval_id": "a", "conversation": [message]}
    eval_set = EvalSet.model_validate({"eval_set_id": "s", "eval_cases": [case]})
    install(root_agent=clerk("Hello."))
    with pytest.raises(AssertionError, match="a has no response_match_score: nothing to compare with"):
        await AgentEvaluator.evaluate_eval_set(
            "shop", eval_set, criteria={"response_match_score": 0.5}, num_runs=1
        )


async def test_mistakes_of_the_test_itself_are_named(install: Install, tmp_path: Path) -> None:
    install()
    with pytest.raises(EvaluationError, match=r"has no \*\.test\.json and no \*\.evalset\.json"):
        await AgentEvaluator.evaluate("shop", tmp_path)
    write(tmp_path / "a.test.json")
    with pytest.raises(ConfigurationError, match="Module 'shop' has no root_agent"):
        await AgentEvaluator.evaluate("shop", tmp_path)
    with pytest.raises(EvaluationError, match=r"session\.json'"):
        await AgentEvaluator.evaluate("shop", tmp_path, initial_session_file=tmp_path / "session.json")
    with pytest.raises(ConfigurationError, match="num_runs is 0"):
        await AgentEvaluator.evaluate("shop", tmp_path, num_runs=0)
    (tmp_path / "test_config.json").write_text('{"criterias": {}}')
    with pytest.raises(EvaluationError, match=r"criterias: there is no such field\. Correct its name"):
        await AgentEvaluator.evaluate("shop", tmp_path)


async def test_a_scenario_does_not_run_for_a_criterion_that_cannot_judge_it(install: Install) -> None:
    agent = clerk("20")
    install(root_agent=agent)
    scenario = {"starting_prompt": "How much?", "conversation_plan": "Ask for the price."}
    eval_set = EvalSet.model_validate(
        {"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation_scenario": scenario}]}
    )
    with pytest.raises(AssertionError, match=r"a is broken: criteria\.response_match_score"):
        await AgentEvaluator.evaluate_eval_set("shop", eval_set, criteria={"response_match_score": 1})
    assert isinstance(agent.model, ScriptedModel) and agent.model.requests == []
