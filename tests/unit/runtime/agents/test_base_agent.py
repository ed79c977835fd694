"""Agent trees, clones, and agents run without a Runner (contract A1, Q7, Q16, Q17)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from runtime import types
from runtime.agents import BaseAgent, InvocationContext, LlmAgent, SequentialAgent
from runtime.apps import App, ResumabilityConfig
from runtime.errors import ConfigurationError
from runtime.events import Event
from runtime.runners import InMemoryRunner
from runtime.sessions import InMemorySessionService
from tests.fakes import ScriptedModel, text_content
from tests.unit.runtime.conversation import Conversation


class Echo(BaseAgent):
    """Yields its greeting."""

    greeting: str = "hello"

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=text_content(self.greeting))


async def context_without_runner(agent: BaseAgent) -> InvocationContext:
    """Return a context with the four arguments that suffice (contract Q7)."""
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="shop", user_id="ada")
    return InvocationContext(invocation_id="e-1", agent=agent, session=session, session_service=sessions)


def tree() -> BaseAgent:
    leaf = Echo(name="leaf")
    return BaseAgent(
        name="root", sub_agents=[BaseAgent(name="middle", sub_agents=[leaf]), Echo(name="other")]
    )


@pytest.mark.parametrize("name", ["user", "", "two words", "1st", "a-b", "a.b", "a/b"])
def test_a_name_that_is_no_identifier_or_is_user_is_refused(name: str) -> None:
    """Contract A1, Q17."""
    with pytest.raises(ValueError, match="Agent name") as error:
        BaseAgent(name=name)
    assert repr(name) in str(error.value)


def test_a_name_may_use_any_script() -> None:
    assert BaseAgent(name="Größe_2").name == "Größe_2"


@pytest.mark.parametrize(
    ("field", "value", "remedy"),
    [
        ("parallel_worker", True, "ParallelAgent"),
        ("retry_config", {"max_attempts": 3}, "retry_options"),
        ("timeout", 5, r"http_options\.timeout"),
        ("timeout", "chat", r"http_options\.timeout"),
    ],
)
def test_a_field_of_google_adk_without_effect_is_refused_with_its_remedy(
    field: str, value: object, remedy: str
) -> None:
    with pytest.raises(ValueError, match=f"Agent 'clerk' cannot have '{field}': .*{remedy}"):
        LlmAgent.model_validate({"name": "clerk", field: value})


def test_what_these_fields_are_by_default_may_be_given_and_a_subclass_may_have_its_own() -> None:
    class Timed(BaseAgent):
        timeout: float = 1.0

    given = {"mode": "chat", "parallel_worker": None, "retry_config": None, "timeout": None}
    assert SequentialAgent.model_validate({"name": "a", **given}) == SequentialAgent(name="a")
    with pytest.raises(ValueError, match="Agent 'a' cannot have 'mode': Only an LlmAgent"):
        SequentialAgent.model_validate({"name": "a", "mode": "task"})
    assert Timed(name="b", timeout=2.0).timeout == 2.0


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValueError, match="instructions"):
        LlmAgent.model_validate({"name": "a", "instructions": "typo"})


def test_the_parents_are_set_by_the_tree() -> None:
    """Contract A1."""
    root = tree()
    leaf = root.find_agent("leaf")
    assert leaf is not None and leaf.parent_agent is root.find_agent("middle")
    assert leaf.root_agent is root.root_agent is root
    assert root.parent_agent is None


def test_agents_are_found_below_by_name() -> None:
    """Contract A1."""
    root = tree()
    assert root.find_agent("root") is root
    assert root.find_sub_agent("root") is None
    found = root.find_sub_agent("leaf")
    assert found is not None and found.name == "leaf"
    assert root.find_agent("nobody") is root.find_sub_agent("nobody") is None
    assert root.get_agent("other").name == "other"
    with pytest.raises(ConfigurationError, match=r"'nobody'.*'root'"):
        root.get_agent("nobody")


def tree_with_twins() -> BaseAgent:
    near, far = (SequentialAgent(name=name, sub_agents=[Echo(name="leaf")]) for name in ("near", "far"))
    return SequentialAgent(name="root", sub_agents=[near, far])


async def test_a_tree_in_which_two_agents_have_one_name_runs_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Contract A1."""
    events = await Conversation(tree_with_twins()).say("go")
    assert [event.author for event in events] == ["leaf", "leaf"]
    [warning] = caplog.messages
    assert "'leaf': root.near.leaf and root.far.leaf." in warning


def test_a_resumable_app_in_which_two_agents_have_one_name_is_refused() -> None:
    """A resumed invocation would always find the first of the two (contract A1)."""
    resumable = ResumabilityConfig(is_resumable=True)
    app = App(name="shop", root_agent=tree_with_twins(), resumability_config=resumable)
    with pytest.raises(ConfigurationError, match=r"'leaf': root\.near\.leaf and root\.far\.leaf\."):
        InMemoryRunner(app=app)


def test_an_agent_has_one_parent() -> None:
    """The message names the child and both parents (contract A1, Q17)."""
    child = BaseAgent(name="child")
    BaseAgent(name="first", sub_agents=[child])
    with pytest.raises(ValueError, match=r"'child'.*'first'.*'second'"):
        BaseAgent(name="second", sub_agents=[child])
    with pytest.raises(ValueError, match="'twin'"):
        twin = BaseAgent(name="twin")
        BaseAgent(name="parent", sub_agents=[twin, twin])


def test_an_agent_that_fails_validation_does_not_adopt_its_children() -> None:
    """Contract A1."""
    available, adopted = BaseAgent(name="available"), BaseAgent(name="adopted")
    BaseAgent(name="parent", sub_agents=[adopted])
    with pytest.raises(ValueError, match="'adopted'"):
        BaseAgent(name="second", sub_agents=[available, adopted])
    with pytest.raises(ValueError, match="no-such-schema"):
        LlmAgent(name="third", output_schema={"no-such-schema": 1}, sub_agents=[available])
    assert available.parent_agent is None
    assert BaseAgent(name="fourth", sub_agents=[available]).sub_agents == [available]


def test_a_clone_is_a_tree_of_its_own() -> None:
    """Contract Q16."""
    root = tree()
    middle = root.get_agent("middle")
    copy = middle.clone()
    assert (copy.name, copy.parent_agent) == ("middle", None)
    leaf = copy.get_agent("leaf")
    assert leaf is not root.get_agent("leaf")
    assert (type(leaf), leaf.parent_agent) == (Echo, copy)
    assert root.get_agent("leaf").parent_agent is middle


def test_a_clone_accepts_updates() -> None:
    """Contract Q16."""
    model = ScriptedModel()
    original = LlmAgent(name="a", model=model, tools=[test_a_clone_accepts_updates], output_key="k")
    copy = original.clone(update={"name": "b", "description": "new"})
    assert isinstance(copy, LlmAgent)
    assert (copy.name, copy.description, copy.model, copy.output_key) == ("b", "new", model, "k")
    copy.tools.clear()
    assert len(original.tools) == 1
    fresh = BaseAgent(name="fresh")
    assert tree().clone(update={"sub_agents": [fresh]}).sub_agents == [fresh]
    assert fresh.parent_agent is not None


@pytest.mark.parametrize("update", [{"parent_agent": BaseAgent(name="p")}, {"colour": "red"}])
def test_a_clone_refuses_a_parent_and_unknown_fields(update: dict[str, Any]) -> None:
    """Contract Q16."""
    with pytest.raises(ValueError, match=next(iter(update))):
        BaseAgent(name="a").clone(update)


async def test_an_agent_runs_without_a_runner() -> None:
    """Contract Q7."""
    agent = Echo(name="echo")
    events = [event async for event in agent.run_async(await context_without_runner(agent))]
    assert [(event.author, event.text()) for event in events] == [("echo", "hello")]


async def test_an_llm_agent_runs_without_a_runner() -> None:
    """Contract Q7."""
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=["hi"]))
    events = [event async for event in agent.run_async(await context_without_runner(agent))]
    assert [(event.author, event.text()) for event in events] == [("clerk", "hi")]


async def test_the_implementation_gets_the_context_of_its_own_agent_positionally() -> None:
    """Contract Q7."""
    seen: list[InvocationContext] = []

    class Peek(BaseAgent):
        async def _run_async_impl(self, anything: InvocationContext, /) -> AsyncGenerator[Event, None]:
            seen.append(anything)
            return
            yield

    peek = Peek(name="peek")
    root = BaseAgent(name="root", sub_agents=[peek])
    parent = await context_without_runner(root)
    assert [event async for event in peek.run_async(parent)] == []
    assert seen[0].agent is peek
    assert (parent.agent, seen[0].session, seen[0].invocation_id) == (root, parent.session, "e-1")


async def test_an_agent_without_an_implementation_raises_when_it_is_run() -> None:
    """Contract Q7."""
    agent = BaseAgent(name="idle")
    with pytest.raises(NotImplementedError, match="'idle'"):
        [event async for event in agent.run_async(await context_without_runner(agent))]


async def test_a_callback_reply_without_a_role_gets_the_role_model() -> None:
    """Contract C2."""
    reply = types.Content(parts=[types.Part(text="closed")])
    agent = Echo(name="echo", before_agent_callback=lambda callback_context: reply)
    [event] = [event async for event in agent.run_async(await context_without_runner(agent))]
    assert event.content is not None and event.content.role == "model"
    assert reply.role is None
