"""Contract A2 to A4, Q13: effects of an agent's configuration on its requests and on the state."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.agents.readonly_context import ReadonlyContext
from runtime.apps import App, ResumabilityConfig
from runtime.events import Event
from runtime.models import LlmRequest
from runtime.run_config import RunConfig, StreamingMode
from runtime.runners import InMemoryRunner
from runtime.tools import google_search
from tests.fakes import ScriptedModel, call, requests_of, say
from tests.unit.runtime.conversation import Conversation, outline


def agent(*turns: Any, **fields: Any) -> LlmAgent:
    fields = {"name": "clerk", **fields}
    return LlmAgent(model=ScriptedModel(turns=list(turns)), **fields)


async def request_of(llm_agent: LlmAgent, state: dict[str, Any] | None = None) -> LlmRequest:
    """Run one invocation and return its last request."""
    await Conversation(llm_agent, state=state).say("go")
    return requests_of(llm_agent)[-1]


def instruction(request: LlmRequest) -> str:
    return str(request.config.system_instruction)


def ping() -> str:
    """Ping."""
    return "pong"


def pong() -> str:
    """Pong."""
    return "ping"


async def test_an_instruction_is_filled_from_the_state() -> None:
    """Contract A3."""
    clerk = agent("ok", instruction="Serve {user:name}. {missing?}", global_instruction="At {app:shop}.")
    text = instruction(await request_of(clerk, {"user:name": "Ada", "app:shop": "Tea"}))
    assert "Serve Ada. " in text
    assert text.startswith("At Tea.")


async def test_a_missing_key_of_an_instruction_ends_the_invocation() -> None:
    """Contract A3."""
    clerk = agent("ok", instruction="Serve {name}.")
    with pytest.raises(KeyError, match="name"):
        await request_of(clerk)
    assert requests_of(clerk) == []


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_text_of_a_provider_is_not_a_template(is_async: bool) -> None:
    """Contract A3."""

    def provide(context: ReadonlyContext) -> str:
        return f"{context.agent_name} {{name}}"

    async def provide_later(context: ReadonlyContext) -> str:
        return provide(context)

    clerk = agent("ok", instruction=provide_later if is_async else provide)
    assert "clerk {name}" in instruction(await request_of(clerk))


async def test_the_instruction_has_the_agents_name_and_description_and_a_label_its_name() -> None:
    """Contract Q13."""
    request = await request_of(agent("ok", description="Sells tea."))
    assert "clerk" in instruction(request) and "Sells tea." in instruction(request)
    assert request.config.labels == {"adk_agent_name": "clerk"}


async def test_only_the_root_agents_global_instruction_is_used() -> None:
    """Contract A2."""
    child = agent("ok", name="child", global_instruction="Not this.")
    root = agent(
        call("transfer_to_agent", agent_name="child"), global_instruction="For all.", sub_agents=[child]
    )
    await Conversation(root).say("go")
    text = instruction(requests_of(child)[0])
    assert "For all." in text and "Not this." not in text


async def test_all_functions_share_one_tool_and_model_side_tools_are_separate() -> None:
    """Contract Q13."""
    request = await request_of(agent("ok", tools=[ping, google_search, pong]))
    tools = request.config.tools
    assert tools is not None and len(tools) == 2
    declared = [
        [declaration.name for declaration in tool.function_declarations or []]
        for tool in tools
        if isinstance(tool, types.Tool)
    ]
    assert ["ping", "pong"] in declared and [] in declared
    assert set(request.tools_dict) == {"ping", "pong"}


async def test_each_model_call_has_a_new_request_and_the_agents_config_is_not_changed() -> None:
    """Contract Q13."""
    config = types.GenerateContentConfig(temperature=0.5, labels={"team": "tea"})
    clerk = agent(call("ping"), "ok", tools=[ping], generate_content_config=config, instruction="Hi.")
    await request_of(clerk)
    first, second = requests_of(clerk)
    assert first is not second and first.config is not second.config
    assert instruction(first) == instruction(second)
    assert second.config.temperature == 0.5
    assert second.config.labels == {"team": "tea", "adk_agent_name": "clerk"}
    assert config == types.GenerateContentConfig(temperature=0.5, labels={"team": "tea"})


async def test_the_texts_of_an_agent_call_are_stored_under_the_output_key_with_their_events() -> None:
    """Contract A4: thoughts and partial events are left out."""
    thought = types.Part(text="hm", thought=True)
    clerk = agent(
        [types.Part(text="Let me see."), call("ping")],
        [thought, types.Part(text="It is "), types.Part(text="five.")],
        "Six.",
        tools=[ping],
        output_key="answer",
    )
    conversation = Conversation(clerk)
    events = await conversation.say("go")
    assert [event.actions.state_delta for event in events] == [
        {"answer": "Let me see."},
        {},
        {"answer": "Let me see.It is five."},
    ]
    await conversation.say("again")
    assert (await conversation.session()).state == {"answer": "Six."}


async def test_a_resumed_agent_continues_the_text_under_its_output_key() -> None:
    """Contract A4, R1."""
    first = [types.Part(text="Let me see."), call("ping")]
    clerk = agent(first, RuntimeError("down"), "It is five.", tools=[ping], output_key="answer")
    app = App(name="shop", root_agent=clerk, resumability_config=ResumabilityConfig(is_resumable=True))
    runner = InMemoryRunner(app=app)
    ids: dict[str, Any] = {"user_id": "ada", "session_id": "s"}
    await runner.session_service.create_session(app_name="shop", **ids)
    interrupted: list[Event] = []
    with pytest.raises(RuntimeError, match="down"):
        async for event in runner.run_async(**ids, new_message=say("go")):
            interrupted.append(event)
    resumed = runner.run_async(**ids, invocation_id=interrupted[0].invocation_id)
    assert outline([event async for event in resumed]) == ["clerk: It is five."]
    session = await runner.session_service.get_session(app_name="shop", **ids)
    assert session is not None and session.state == {"answer": "Let me see.It is five."}


async def test_partial_events_write_no_output() -> None:
    """Contract A4, L4."""
    conversation = Conversation(agent("one two", output_key="user:answer"))
    events = await conversation.say("go", RunConfig(streaming_mode=StreamingMode.SSE))
    assert events[-1].actions.state_delta == {"user:answer": "one two"}
    assert (await conversation.session()).state == {"user:answer": "one two"}


async def test_an_empty_text_is_stored() -> None:
    """Contract A4: the answer of an earlier turn does not stay."""
    conversation = Conversation(agent("five", "", output_key="answer"))
    for message in ("2 + 3?", "thanks"):
        await conversation.say(message)
    assert (await conversation.session()).state == {"answer": ""}


async def test_an_answer_without_a_text_writes_no_output() -> None:
    """Contract A4."""
    conversation = Conversation(agent([types.Part(text="hm", thought=True)], output_key="answer"))
    await conversation.say("go")
    assert (await conversation.session()).state == {}
