"""`Runner.cancel` together with other cancellations, and before an invocation has begun (contract R2, L7)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from runtime import types
from runtime.agents import BaseAgent, LlmAgent, ParallelAgent
from runtime.agents.callback_context import CallbackContext
from runtime.events import Event
from runtime.models import BaseLlm, LlmRequest, LlmResponse
from runtime.run_config import RunConfig, StreamingMode
from runtime.sessions import Session
from tests.fakes import ScriptedModel, call, say, text_content
from tests.unit.runtime.conversation import Conversation


async def begin(agent: BaseAgent) -> Conversation:
    """Return a conversation whose session exists, so that several messages can be sent at once."""
    talk = Conversation(agent)
    await talk.session()
    return talk


async def texts(talk: Conversation) -> list[str]:
    return [event.text() for event in (await talk.session()).events]


class Gate(BaseLlm):
    """Waits before it answers; a cancellation makes it answer at once."""

    model: str = "gate"
    began: Any
    swallows: bool = False

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        try:
            self.began.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if not self.swallows:
                raise
        yield LlmResponse(content=text_content("in a hurry"))


def gate(*, swallows: bool = False) -> tuple[LlmAgent, asyncio.Event]:
    began = asyncio.Event()
    return LlmAgent(name="clerk", model=Gate(began=began, swallows=swallows)), began


def cancellations() -> int:
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


async def test_a_model_that_ignores_its_cancellation_does_not_affect_the_caller() -> None:
    """Timeouts of the caller still work (contract R2)."""
    agent, began = gate(swallows=True)
    talk = await begin(agent)

    async def stop() -> None:
        await began.wait()
        talk.runner.cancel("e-1")

    stopping = asyncio.create_task(stop())
    assert [event.text() for event in await talk.say("go", invocation_id="e-1")] == ["in a hurry", ""]
    await stopping
    assert cancellations() == 0
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await asyncio.Event().wait()


@pytest.mark.parametrize("swallows", [False, True])
@pytest.mark.parametrize("is_stopped_first", [False, True])
async def test_a_caller_cancelled_together_with_its_invocation_is_cancelled(
    is_stopped_first: bool, swallows: bool
) -> None:
    """Contract L7."""
    agent, began = gate(swallows=swallows)
    talk = await begin(agent)
    listening = asyncio.create_task(talk.say("go", invocation_id="e-1"))
    await began.wait()
    if is_stopped_first:
        talk.runner.cancel("e-1")
    listening.cancel()
    talk.runner.cancel("e-1")
    with pytest.raises(asyncio.CancelledError):
        await listening
    assert listening.cancelling() == 1


async def test_a_cancel_by_the_invocations_own_code_affects_nothing_else() -> None:
    """A callback cancels its own invocation, and the caller continues (contract R2)."""
    stopped: list[bool] = []

    def stop(callback_context: CallbackContext) -> types.Content:
        stopped.append(talk.runner.cancel(callback_context.invocation_id))
        return text_content("closed")

    model = ScriptedModel(turns=["never said"])
    talk = await begin(LlmAgent(name="clerk", model=model, before_agent_callback=stop))
    events = await talk.say("go")
    await asyncio.sleep(0)
    assert (stopped, cancellations()) == ([True], 0)
    assert [(event.text(), event.interrupted) for event in events] == [("closed", None), ("", True)]


class Word(BaseLlm):
    """Streams its name, then hangs or says that this was all."""

    ends: bool = False

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=text_content(self.model), partial=True)
        if self.ends:
            yield LlmResponse(content=text_content(self.model))
        else:
            await asyncio.Event().wait()


async def test_interrupted_text_keeps_its_branch() -> None:
    """Contract R2, A5."""
    agents: list[BaseAgent] = [LlmAgent(name=name, model=Word(model=name)) for name in ("a", "b")]
    talk = await begin(ParallelAgent(name="par", sub_agents=agents))
    events: list[Event] = []
    session_id = (await talk.session()).id
    async for event in talk.runner.run_async(
        user_id="ada", session_id=session_id, new_message=say("go"), invocation_id="e-1"
    ):
        events.append(event)
        if len(events) == 2:
            talk.runner.cancel("e-1")
    cut_off = {(event.text(), event.branch) for event in events if event.interrupted}
    assert cut_off == {("a", "par.a"), ("b", "par.b")}


async def test_an_invocation_that_waits_for_its_session_is_cancelled_without_events() -> None:
    """The running invocation and the next waiting one continue (contract R2)."""
    opened = asyncio.Event()
    talk = await begin(LlmAgent(name="clerk", model=ScriptedModel(turns=[opened, "third"])))
    first, second, third = (
        asyncio.create_task(talk.say(text, invocation_id=f"e-{text}")) for text in ("one", "two", "three")
    )
    await asyncio.sleep(0)
    assert talk.runner.cancel("e-two")
    assert await asyncio.wait_for(second, 5) == []
    assert not talk.runner.cancel("e-two")
    opened.set()
    await asyncio.wait_for(asyncio.gather(first, third), 5)
    assert await texts(talk) == ["one", "released", "three", "third"]


async def test_an_invocation_cancelled_while_its_session_is_loaded_has_no_events() -> None:
    """Also when the session is loaded in spite of the cancellation (contract R2)."""
    talk = await begin(LlmAgent(name="clerk", model=ScriptedModel(turns=["never said"])))
    load = talk.runner.session_service.get_session

    async def load_and_stop(**key: Any) -> Session | None:
        talk.runner.cancel("e-1")
        return await load(**key)

    talk.runner.session_service.get_session = load_and_stop  # type: ignore[method-assign]
    assert await talk.say("go", invocation_id="e-1") == []
    assert await texts(talk) == []


async def test_a_caller_cancelled_while_waiting_for_the_session_is_cancelled() -> None:
    """Contract L7."""
    agent, began = gate()
    talk = await begin(agent)
    first, second = (asyncio.create_task(talk.say(text, invocation_id="e-1")) for text in ("one", "two"))
    await began.wait()
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert talk.runner.cancel("e-1")
    await first
    assert await texts(talk) == ["one", ""]


async def test_cancel_applies_to_all_runs_with_the_id() -> None:
    """Contract R2."""
    agent, began = gate()
    talk = await begin(agent)
    first, second = (asyncio.create_task(talk.say(text, invocation_id="e-1")) for text in ("one", "two"))
    await began.wait()
    assert talk.runner.cancel("e-1")
    ended = await asyncio.wait_for(asyncio.gather(first, second), 5)
    assert [[event.interrupted for event in events] for events in ended] == [[True], []]


async def test_an_invocation_is_cancelled_by_the_id_that_the_runner_gave_it() -> None:
    """Contract R2, L2."""
    agent, began = gate()
    talk = await begin(agent)
    listening = asyncio.create_task(talk.say("go"))
    await began.wait()
    session = await talk.session()
    assert talk.runner.cancel(session.events[0].invocation_id)
    assert [event.interrupted for event in await listening] == [True]


@pytest.mark.parametrize("what", ["text", "response"])
async def test_what_a_cancelled_commit_has_stored_is_recorded_once(what: str) -> None:
    """As with a database that receives the cancellation after the commit (contract R2)."""

    def look() -> str:
        return "seen"

    calling = ScriptedModel(turns=[call("look", "c1"), "Bye."])
    model = Word(model="Hello", ends=True) if what == "text" else calling
    talk = await begin(LlmAgent(name="clerk", model=model, tools=[look]))
    service = talk.runner.session_service
    append = service.append_event
    stored: list[Event] = []

    async def append_and_stop(session: Session, event: Event) -> Event:
        if not stored and (event.text() == "Hello" or event.get_function_responses()):
            stored.append(await append(await talk.session(), event))
            talk.runner.cancel("e-1")
            await asyncio.Event().wait()
        return await append(session, event)

    service.append_event = append_and_stop  # type: ignore[method-assign]
    await talk.say("go", RunConfig(streaming_mode=StreamingMode.SSE), invocation_id="e-1")
    events = (await talk.session()).events
    assert events[-1].interrupted
    if what == "text":
        assert [event.text() for event in events] == ["go", "Hello", ""]
    else:
        responses = [response.response for event in events for response in event.get_function_responses()]
        assert responses == [{"result": "seen"}]
