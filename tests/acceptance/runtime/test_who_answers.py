"""Contract A6, L8, Q8, Q9, Q11: transfers, the agent that gets the next message, and visible contents."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent, ParallelAgent
from runtime.events.quotation import HEADING
from tests.fakes import ScriptedModel, call, parts_of, requests_of, response_of
from tests.unit.runtime.conversation import Conversation, outline


def agent(name: str, *turns: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(turns=list(turns)), **fields)


def to(name: str) -> Any:
    return call("transfer_to_agent", agent_name=name)


def offered(llm_agent: LlmAgent) -> list[str]:
    """Return the agents that the agent's last request offers for a transfer."""
    declarations = [
        declaration
        for tool in requests_of(llm_agent)[-1].config.tools or []
        if isinstance(tool, types.Tool)
        for declaration in tool.function_declarations or []
        if declaration.name == "transfer_to_agent"
    ]
    return [name for declaration in declarations for name in agent_names(declaration)]


def agent_names(declaration: types.FunctionDeclaration) -> list[str]:
    assert declaration.parameters is not None and declaration.parameters.properties is not None
    return declaration.parameters.properties["agent_name"].enum or []


async def test_a_transfer_continues_the_invocation_with_another_agent() -> None:
    """Contract A6, Q8: the function response belongs to the caller and precedes the target's first event."""
    billing = agent("billing", "Your bill is 5.")
    conversation = Conversation(agent("root", to("billing"), sub_agents=[billing]))
    events = await conversation.say("my bill?")
    assert outline(events) == [
        "root: transfer_to_agent()",
        "root: =transfer_to_agent",
        "billing: Your bill is 5.",
    ]
    assert events[1].actions.transfer_to_agent == "billing"
    assert events[1].get_function_responses()[0].response == {"result": None}
    assert len({event.invocation_id for event in events}) == 1
    assert next(
        part.text for content in requests_of(billing)[0].contents for part in content.parts or []
    ) == ("my bill?")


async def test_the_next_message_goes_to_the_agent_that_spoke_last() -> None:
    """Contract L8."""
    billing = agent("billing", "Your bill is 5.", "It was the tea.")
    root = agent("root", to("billing"), sub_agents=[billing])
    conversation = Conversation(root)
    await conversation.say("my bill?")
    assert outline(await conversation.say("why?")) == ["billing: It was the tea."]


async def test_an_agent_that_failed_does_not_get_the_next_message() -> None:
    """Contract L5, L8."""

    def break_down() -> None:
        """Break down."""
        raise LookupError("the secret")

    billing = agent("billing", call("break_down"), tools=[break_down])
    desk = agent("desk", to("billing"), "I am here.", sub_agents=[billing])
    conversation = Conversation(desk)
    with pytest.raises(LookupError):
        await conversation.say("my bill?")
    events = (await conversation.session()).events
    assert outline(events)[-1] == "billing: !LookupError"
    assert "the secret" not in events[-1].model_dump_json()
    assert outline(await conversation.say("why?")) == ["desk: I am here."]


@pytest.mark.parametrize(("blocked", "expected"), [("leaf", "middle"), ("middle", "root")])
async def test_an_agent_that_may_not_transfer_back_does_not_get_the_next_message(
    blocked: str, expected: str
) -> None:
    """Contract L8: the next message goes to the latest author that may transfer to its parent, as its ancestors may."""
    leaf = agent("leaf", "leaf here", disallow_transfer_to_parent=blocked == "leaf")
    middle = agent(
        "middle",
        to("leaf"),
        "middle here",
        sub_agents=[leaf],
        disallow_transfer_to_parent=blocked == "middle",
    )
    conversation = Conversation(agent("root", to("middle"), "root here", sub_agents=[middle]))
    assert outline(await conversation.say("one"))[-1] == "leaf: leaf here"
    assert outline(await conversation.say("two")) == [f"{expected}: {expected} here"]


async def test_events_of_removed_agents_are_ignored() -> None:
    """Contract L8."""
    conversation = Conversation(agent("root", "one", "two"))
    await conversation.say("a")
    [*_, last] = (await conversation.session()).events
    conversation.runner.agent.name = "renamed"
    assert (last.author, outline(await conversation.say("b"))) == ("root", ["renamed: two"])


async def test_agents_may_transfer_to_parent_and_peers() -> None:
    """Contract A6."""
    a = agent("a", to("b"))
    b = agent("b", to("root"))
    root = agent("root", to("a"), "back at the root", sub_agents=[a, b])
    events = await Conversation(root).say("go")
    assert [event.author for event in events] == ["root", "root", "a", "a", "b", "b", "root"]
    assert (offered(root), offered(a), offered(b)) == (["a", "b"], ["root", "b"], ["root", "a"])


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, ["leaf", "root", "peer"]),
        ({"disallow_transfer_to_parent": True}, ["leaf", "peer"]),
        ({"disallow_transfer_to_peers": True}, ["leaf", "root"]),
        ({"disallow_transfer_to_parent": True, "disallow_transfer_to_peers": True}, ["leaf"]),
    ],
)
async def test_the_flags_limit_the_offered_agents(flags: dict[str, bool], expected: list[str]) -> None:
    """Contract A6."""
    middle = agent("middle", "done", sub_agents=[agent("leaf", description="Knows leaves.")], **flags)
    await Conversation(agent("root", to("middle"), sub_agents=[middle, agent("peer")])).say("go")
    assert offered(middle) == expected
    instruction = str(requests_of(middle)[-1].config.system_instruction)
    assert "Knows leaves." in instruction
    assert ("`peer`" in instruction) is ("peer" in expected)


async def test_an_agent_without_relatives_offers_no_transfer() -> None:
    """Contract A6."""
    alone = agent("alone", "done")
    await Conversation(alone).say("go")
    assert not requests_of(alone)[0].config.tools
    assert "transfer_to_agent" not in str(requests_of(alone)[0].config.system_instruction)


async def test_a_transfer_to_an_unknown_agent_is_an_error_response() -> None:
    """Contract A6."""
    root = agent("root", to("nobody"), "My mistake.", sub_agents=[agent("billing")])
    events = await Conversation(root).say("go")
    assert outline(events) == ["root: transfer_to_agent()", "root: =transfer_to_agent", "root: My mistake."]
    error = response_of(parts_of(events[1].content)[0])["error"]
    assert "'nobody'" in error and "billing" in error
    assert events[1].actions.transfer_to_agent is None


async def test_texts_of_other_agents_are_sent_as_context() -> None:
    """Contract A7."""
    billing = agent("billing", "Your bill is 5.")
    await Conversation(agent("root", to("billing"), sub_agents=[billing])).say("my bill?")
    texts = [[part.text for part in content.parts or []] for content in requests_of(billing)[0].contents]
    assert texts[0] == ["my bill?"]
    assert texts[1][0] == HEADING and "transfer_to_agent" in str(texts[1][1])
    assert {content.role for content in requests_of(billing)[0].contents} == {"user"}


async def test_an_agent_with_include_contents_none_sees_the_current_turn_only() -> None:
    """Contract Q11."""

    def ping() -> str:
        """Ping."""
        return "pong"

    forgetful = agent("forgetful", "one", call("ping"), "two", include_contents="none", tools=[ping])
    conversation = Conversation(forgetful)
    await conversation.say("first")
    await conversation.say("second")
    sent = requests_of(forgetful)[-1].contents
    assert parts_of(sent[0])[0].text == "second"
    assert [content.role for content in sent] == ["user", "model", "user"]


async def test_after_a_transfer_a_target_with_include_contents_none_sees_no_earlier_turns() -> None:
    """Contract Q11: its turn begins with the message that the previous agent has handed over."""
    billing = agent("billing", "Your bill is 5.", include_contents="none")
    conversation = Conversation(agent("root", "Hello.", to("billing"), sub_agents=[billing]))
    await conversation.say("hi")
    await conversation.say("my bill?")
    texts = [part.text for content in requests_of(billing)[0].contents for part in content.parts or []]
    assert texts[0] == "my bill?"
    assert "hi" not in texts and "Hello." not in str(texts)


async def test_parallel_agents_with_include_contents_none_keep_the_message() -> None:
    """Contract Q11, A5: events on other branches begin no turn."""

    def ping() -> str:
        """Ping."""
        return "pong"

    quick = agent("quick", "done at once")
    forgetful = agent("forgetful", call("ping"), "done", include_contents="none", tools=[ping])
    await Conversation(ParallelAgent(name="both", sub_agents=[quick, forgetful])).say("question")
    for request in requests_of(forgetful):
        assert parts_of(request.contents[0])[0].text == "question"


async def test_an_agents_own_tool_named_like_the_transfer_tool_is_called() -> None:
    def transfer_to_agent(agent_name: str) -> str:
        """Ask for a transfer."""
        return f"asked for {agent_name}"

    model = ScriptedModel(turns=[call("transfer_to_agent", agent_name="other"), "end"])
    other = LlmAgent(name="other", model=ScriptedModel())
    desk = LlmAgent(name="desk", model=model, tools=[transfer_to_agent], sub_agents=[other])
    events = await Conversation(desk).say("go")
    assert response_of(parts_of(events[1].content)[0]) == {"result": "asked for other"}
    assert events[-1].author == "desk" and events[-1].text() == "end"
    [tool] = model.requests[0].config.tools or []
    assert isinstance(tool, types.Tool)
    assert [declared.name for declared in tool.function_declarations or []] == ["transfer_to_agent"]


async def test_the_output_of_an_agent_after_a_transfer_back_is_that_of_its_last_call() -> None:
    """Contract A4: each call of the agent begins its output anew."""
    helper = agent("helper", to("root"))
    first = [types.Part(text="One moment. "), to("helper")]
    root = agent("root", first, "Done.", output_key="said", sub_agents=[helper])
    conversation = Conversation(root)
    await conversation.say("help")
    assert (await conversation.session()).state["said"] == "Done."
