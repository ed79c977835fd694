"""Contract: an author tests an agent in a few lines, and a failed comparison shows both sides in the same words."""

from __future__ import annotations

import asyncio

import pytest

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.errors import AdkError
from runtime.plugins import BasePlugin
from runtime.testing import AgentRunner, ScriptModel, call, calls, responds, says, transfers_to
from runtime.testing.scripted_model import ScriptedModel
from runtime.tools import AgentTool, ToolContext

pytest_plugins = ["runtime.testing.plugin"]


def price(item: str, tool_context: ToolContext) -> str:
    """Look up the price of an item."""
    tool_context.state["item"] = item
    return f"{item}: 20 €"


@pytest.fixture
def clerk() -> LlmAgent:
    return LlmAgent(name="clerk", model="no-such-model", tools=[price])


def test_the_events_of_a_run_equal_their_matchers(
    clerk: LlmAgent, scripted_model: ScriptModel, run_agent: AgentRunner
) -> None:
    model = scripted_model(clerk, call("price", item="lamp"), "A lamp costs 20 €.")
    assert run_agent(clerk, "How much is a lamp?") == [
        calls("price", item="lamp"),
        responds("price", result="lamp: 20 €"),
        says("20 €", by="clerk"),
    ]
    assert run_agent.state_of(clerk) == {"item": "lamp"}
    assert len(model.requests) == 2


def test_a_second_message_continues_the_session(
    clerk: LlmAgent, scripted_model: ScriptModel, run_agent: AgentRunner
) -> None:
    clerk.instruction = "The person is called {name}."
    model = scripted_model(clerk, "Hello.", "Hello again.")
    run_agent(clerk, "Hi", state={"name": "Ada"})
    assert run_agent(clerk, "Hi again") == [says("Hello again.")]
    texts = [content.parts[0].text for content in model.requests[-1].contents if content.parts]
    assert texts == ["Hi", "Hello.", "Hi again"]
    assert "Ada" in str(model.requests[-1].config.system_instruction)


def test_a_script_answers_for_all_agents_of_an_app(
    scripted_model: ScriptModel, run_agent: AgentRunner
) -> None:
    billing = LlmAgent(name="billing", description="Invoices.")
    helper = LlmAgent(name="helper", description="Helps.")
    desk = LlmAgent(name="desk", model="no-such-model", sub_agents=[billing], tools=[AgentTool(helper)])
    app = App(name="shop", root_agent=desk)
    scripted_model(
        app,
        call("helper", request="Look."),
        "I looked.",
        call("transfer_to_agent", agent_name="billing"),
        "It is paid.",
    )
    assert run_agent(app, "Is my invoice paid?") == [
        calls("helper"),
        responds("helper", result="I looked."),
        calls("transfer_to_agent"),
        transfers_to("billing"),
        says("It is paid.", by="billing"),
    ]


@pytest.mark.parametrize(
    "matcher",
    [says("30 €"), says("20 €", by="other"), calls("price"), responds("price"), transfers_to("clerk")],
)
def test_a_matcher_differs_from_an_event_that_it_does_not_describe(
    clerk: LlmAgent, scripted_model: ScriptModel, run_agent: AgentRunner, matcher: object
) -> None:
    scripted_model(clerk, "A lamp costs 20 €.")
    events = run_agent(clerk, "How much is a lamp?")
    assert events != [matcher]
    assert events == [says()]


def test_arguments_and_results_are_compared(
    clerk: LlmAgent, scripted_model: ScriptModel, run_agent: AgentRunner
) -> None:
    scripted_model(clerk, call("price", item="lamp"), "20 €")
    called, responded, _ = run_agent(clerk, "How much is a lamp?")
    assert called == calls("price") and called != calls("price", item="desk") and called != calls("cost")
    assert called != calls("price", colour=None)
    assert responded == responds("price") and responded != responds("price", result="")


def test_a_failed_comparison_shows_found_and_expected_in_the_same_words(
    clerk: LlmAgent, scripted_model: ScriptModel, run_agent: AgentRunner
) -> None:
    scripted_model(clerk, call("price", item="lamp"), "20 €")
    events = run_agent(clerk, "How much is a lamp?")
    with pytest.raises(AssertionError) as failed:
        assert events == [calls("price", item="desk"), says("20 €")]
    lines = [line.strip() for line in str(failed.value).splitlines()]
    assert "found:    calls('price', item='lamp')" in lines
    assert "found:    responds('price', result='lamp: 20 €')" in lines
    assert "found:    says('20 €', by='clerk')" in lines
    assert "expected: calls('price', item='desk')" in lines


def test_a_script_that_is_too_short_says_so(
    clerk: LlmAgent, scripted_model: ScriptModel, run_agent: AgentRunner
) -> None:
    scripted_model(clerk, call("price", item="lamp"))
    with pytest.raises(AssertionError, match="no turn for model call 2"):
        run_agent(clerk, "How much is a lamp?")


shared = LlmAgent(name="shared", model="no-such-model")


@pytest.mark.parametrize("turn", ["first", "second"])
def test_a_script_lasts_until_the_end_of_its_test(scripted_model: ScriptModel, turn: str) -> None:
    assert shared.model == "no-such-model"
    scripted_model(shared, turn)


def test_a_plugin_that_fails_to_close_does_not_keep_others_open() -> None:
    closed: list[str] = []

    class Closing(BasePlugin):
        async def close(self) -> None:
            closed.append(self.name)
            if self.name == "first":
                raise OSError("stuck")

    with asyncio.Runner() as loop:
        run_agent = AgentRunner(loop)
        for name in ("first", "second"):
            agent = LlmAgent(name=name, model=ScriptedModel(turns=["Hello."]))
            run_agent(App(name=name, root_agent=agent, plugins=[Closing(name)]), "Hi")
        with pytest.raises(AdkError, match=r"'first'.*stuck"):
            loop.run(run_agent.close())
    assert closed == ["first", "second"]
