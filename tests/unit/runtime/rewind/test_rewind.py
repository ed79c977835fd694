"""Rewind of an invocation and all later ones: contents, state and artifacts (contract R3)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App, ResumabilityConfig
from runtime.errors import (
    ConfigurationError,
    InvalidMessageError,
    InvocationNotFoundError,
    SessionNotFoundError,
)
from runtime.events import Event
from runtime.runners import InMemoryRunner, Runner
from runtime.sessions import BaseSessionService, InMemorySessionService, Session
from runtime.tools import LongRunningFunctionTool, ToolContext
from tests.fakes import ScriptedModel, call, say
from tests.unit.runtime.engine.histories import story

ADA: dict[str, Any] = {"user_id": "ada", "session_id": "s"}
EMPTY = types.Blob(data=b"", mime_type="application/octet-stream")


def remember(key: str, value: str, tool_context: ToolContext) -> str:
    """Keep a value."""
    tool_context.state[key] = value
    return "kept"


async def write(name: str, text: str, tool_context: ToolContext) -> int:
    """Write a file."""
    return await tool_context.save_artifact(name, types.Part(text=text))


class Chat:
    """Session `s` of user Ada; the agent follows a script."""

    def __init__(self, runner: Runner, model: ScriptedModel) -> None:
        self.runner = runner
        self.model = model

    async def say(self, message: str | types.Content, *turns: Any) -> str:
        """Run one invocation and return its id."""
        self.model.turns = [*turns, "done"]
        content = say(message) if isinstance(message, str) else message
        events = [event async for event in self.runner.run_async(**ADA, new_message=content)]
        return events[-1].invocation_id

    async def rewind(self, invocation_id: str) -> Event:
        return await self.runner.rewind_async(**ADA, rewind_before_invocation_id=invocation_id)

    async def session(self) -> Session:
        session = await self.runner.session_service.get_session(app_name="shop", **ADA)
        assert session is not None
        return session

    async def file(self, name: str) -> types.Part | None:
        assert self.runner.artifact_service is not None
        return await self.runner.artifact_service.load_artifact(app_name="shop", **ADA, filename=name)

    def latest_contents(self) -> list[str]:
        """Return the contents of the latest request."""
        return story(list(self.model.requests[-1].contents))


async def opened(*tools: Any, resumable: bool = False, **state: Any) -> Chat:
    model = ScriptedModel()
    agent = LlmAgent(name="agent", model=model, tools=list(tools))
    config = ResumabilityConfig(is_resumable=resumable)
    runner = InMemoryRunner(app=App(name="shop", root_agent=agent, resumability_config=config))
    await runner.session_service.create_session(app_name="shop", **ADA, state=state)
    return Chat(runner, model)


async def test_the_model_no_longer_sees_rewound_events_and_the_session_keeps_them() -> None:
    chat = await opened()
    await chat.say("one")
    second = await chat.say("two")
    await chat.say("three")
    before = (await chat.session()).events
    event = await chat.rewind(second)
    await chat.say("four")
    assert chat.latest_contents() == ["user: one", "model: done", "user: four"]
    log = (await chat.session()).events
    assert log[: len(before)] == before
    assert (event.author, event.content, event.actions.rewind_before_invocation_id) == ("user", None, second)
    assert log[len(before)] == event


async def test_session_state_is_restored_and_shared_state_stays() -> None:
    chat = await opened(remember, given="at creation", changed="at creation")
    await chat.say("one", call("remember", key="kept", value="one"))
    second = await chat.say(
        "two",
        [
            call("remember", key=key, value="two")
            for key in ("kept", "new", "changed", "user:name", "app:name", "temp:name")
        ],
    )
    await chat.say("three", call("remember", key="kept", value="three"))
    event = await chat.rewind(second)
    assert event.actions.state_delta == {"kept": "one", "new": None, "changed": "at creation"}
    assert (await chat.session()).state == {
        "given": "at creation",
        "changed": "at creation",
        "kept": "one",
        "new": None,
        "user:name": "two",
        "app:name": "two",
    }


async def test_artifacts_get_new_versions_with_their_earlier_contents() -> None:
    """New artifacts become empty; `user:` artifacts stay."""
    chat = await opened(write)
    await chat.say("one", call("write", name="a.txt", text="first"))
    second = await chat.say(
        "two", [call("write", name=name, text="second") for name in ("a.txt", "b.txt", "user:c.txt")]
    )
    event = await chat.rewind(second)
    assert event.actions.artifact_delta == {"a.txt": 2, "b.txt": 1}
    assert await chat.file("a.txt") == types.Part(text="first")
    assert await chat.file("b.txt") == types.Part(inline_data=EMPTY)
    assert await chat.file("user:c.txt") == types.Part(text="second")


async def test_rewinding_over_a_rewind_undoes_what_the_first_one_restored() -> None:
    chat = await opened(remember, write)
    first = await chat.say("one", call("remember", key="k", value="1"), call("write", name="f", text="1"))
    second = await chat.say("two", call("remember", key="k", value="2"), call("write", name="f", text="2"))
    await chat.rewind(second)
    third = await chat.say("three", call("remember", key="k", value="3"), call("write", name="f", text="3"))
    await chat.rewind(third)
    assert (await chat.session()).state == {"k": "1"}
    assert await chat.file("f") == types.Part(text="1")
    await chat.rewind(first)
    assert (await chat.session()).state == {"k": None}
    assert await chat.file("f") == types.Part(inline_data=EMPTY)
    await chat.say("four")
    assert chat.latest_contents() == ["user: four"]


async def test_an_unknown_or_rewound_invocation_is_named_in_the_error() -> None:
    chat = await opened()
    first = await chat.say("one")
    for wanted in ("e-nothing", first):
        if wanted == first:
            await chat.rewind(first)
        with pytest.raises(InvocationNotFoundError, match=wanted):
            await chat.rewind(wanted)
    with pytest.raises(SessionNotFoundError, match="nowhere"):
        await chat.runner.rewind_async(user_id="ada", session_id="nowhere", rewind_before_invocation_id=first)


async def test_artifacts_without_an_artifact_service_are_an_error() -> None:
    chat = await opened(write)
    first = await chat.say("one", call("write", name="a.txt", text="first"))
    chat.runner.artifact_service = None
    with pytest.raises(ConfigurationError, match=r"a\.txt"):
        await chat.rewind(first)


async def test_an_agent_whose_events_were_rewound_does_not_handle_the_message() -> None:
    """The latest author of the remaining events does (contract L8)."""
    model = ScriptedModel()
    helper = LlmAgent(name="helper", model=model)
    root = LlmAgent(name="root", model=model, sub_agents=[helper])
    runner = InMemoryRunner(root, app_name="shop")
    await runner.session_service.create_session(app_name="shop", **ADA)
    chat = Chat(runner, model)
    await chat.say("one")
    second = await chat.say("two", call("transfer_to_agent", agent_name="helper"))
    await chat.rewind(second)
    await chat.say("three")
    assert [event.author for event in (await chat.session()).events[-2:]] == ["user", "root"]


def order(what: str) -> None:
    """Order something; the result takes days."""


@pytest.mark.parametrize("resumable", [True, False])
async def test_a_rewound_call_is_not_pending(resumable: bool) -> None:
    """Its late answer is refused (contract T5, R1)."""
    chat = await opened(LongRunningFunctionTool(order), resumable=resumable)
    await chat.say("one")
    chat.model.turns = [call("order", "c1", what="tea")]
    events = [event async for event in chat.runner.run_async(**ADA, new_message=say("two"))]
    second = events[0].invocation_id
    assert events[0].long_running_tool_ids == {"c1"}
    await chat.rewind(second)
    await chat.say("three")
    assert chat.latest_contents() == ["user: one", "model: done", "user: three"]
    late = types.FunctionResponse(id="c1", name="order", response={"status": "done"})
    with pytest.raises(InvalidMessageError, match="'c1' of 'order'"):
        await chat.say(types.Content(role="user", parts=[types.Part(function_response=late)]))


async def test_a_rewound_invocation_cannot_be_resumed() -> None:
    """Contract R1."""
    chat = await opened(resumable=True)
    first = await chat.say("one")
    await chat.rewind(first)
    with pytest.raises(InvocationNotFoundError, match=first):
        _ = [event async for event in chat.runner.run_async(**ADA, invocation_id=first)]


async def test_a_service_without_initial_state_restores_the_state_of_events() -> None:
    class Plain(InMemorySessionService):
        async def initial_state(self, *, app_name: str, user_id: str, session_id: str) -> dict[str, Any]:
            return await BaseSessionService.initial_state(
                self, app_name=app_name, user_id=user_id, session_id=session_id
            )

    chat = await opened(remember)
    chat.runner.session_service = Plain()
    await chat.runner.session_service.create_session(app_name="shop", **ADA, state={"given": "at creation"})
    await chat.say("one", call("remember", key="k", value="1"))
    second = await chat.say("two", call("remember", key="k", value="2"))
    await chat.rewind(second)
    assert (await chat.session()).state == {"given": "at creation", "k": "1"}
