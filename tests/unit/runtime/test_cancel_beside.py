"""R2, L7: a stop beside other cancellations, and of invocations that have not begun."""

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
from runtime.runners import InMemoryRunner
from runtime.sessions import Session
from tests.fakes import ScriptedModel, say, text_content


class Talk:
    """A session of an agent. Messages have the invocation ids that they are given."""

    def __init__(self, agent: BaseAgent) -> None:
        self.runner = InMemoryRunner(agent, app_name="t")
        self.ids = {"user_id": "u", "session_id": "s"}

    @classmethod
    async def begin(cls, agent: BaseAgent) -> Talk:
        talk = cls(agent)
        await talk.runner.session_service.create_session(app_name="t", **talk.ids)
        return talk

    async def say(self, text: str, invocation_id: str | None = None) -> list[Event]:
        run = self.runner.run_async(**self.ids, new_message=say(text), invocation_id=invocation_id)
        return [event async for event in run]

    async def texts(self) -> list[str]:
        session = await self.runner.session_service.get_session(app_name="t", **self.ids)
        assert session is not None
        return [event.text() for event in session.events]


class Gate(BaseLlm):
    """Waits before it answers; what cancels it makes it hurry."""

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


async def test_a_model_that_does_not_heed_its_stop_leaves_the_caller_as_it_was() -> None:
    """R2: time limits of the caller go on working."""
    agent, began = gate(swallows=True)
    talk = await Talk.begin(agent)

    async def stop() -> None:
        await began.wait()
        talk.runner.cancel("e-1")

    stopping = asyncio.create_task(stop())
    assert [event.text() for event in await talk.say("go", "e-1")] == ["in a hurry", ""]
    await stopping
    assert cancellations() == 0
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await asyncio.Event().wait()


@pytest.mark.parametrize("swallows", [False, True])
@pytest.mark.parametrize("is_stopped_first", [False, True])
async def test_who_is_cancelled_together_with_a_stop_is_cancelled(
    is_stopped_first: bool, swallows: bool
) -> None:
    """L7."""
    agent, began = gate(swallows=swallows)
    talk = await Talk.begin(agent)
    listening = asyncio.create_task(talk.say("go", "e-1"))
    await began.wait()
    if is_stopped_first:
        talk.runner.cancel("e-1")
    listening.cancel()
    talk.runner.cancel("e-1")
    with pytest.raises(asyncio.CancelledError):
        await listening
    assert listening.cancelling() == 1


async def test_a_stop_by_the_invocations_own_code_reaches_nobody_else() -> None:
    """R2: a callback stops the invocation that it belongs to, and its caller goes on."""
    stopped: list[bool] = []

    def stop(callback_context: CallbackContext) -> types.Content:
        stopped.append(talk.runner.cancel(callback_context.invocation_id))
        return text_content("closed")

    model = ScriptedModel(turns=["never said"])
    talk = await Talk.begin(LlmAgent(name="clerk", model=model, before_agent_callback=stop))
    events = await talk.say("go")
    await asyncio.sleep(0)
    assert (stopped, cancellations()) == ([True], 0)
    assert [(event.text(), event.interrupted) for event in events] == [("closed", None), ("", True)]


class Word(BaseLlm):
    """Says its name, then nothing more."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=text_content(self.model), partial=True)
        await asyncio.Event().wait()


async def test_text_that_is_cut_off_is_on_the_branch_that_it_was_said_on() -> None:
    """R2, A5."""
    agents: list[BaseAgent] = [LlmAgent(name=name, model=Word(model=name)) for name in ("a", "b")]
    talk = await Talk.begin(ParallelAgent(name="par", sub_agents=agents))
    events: list[Event] = []
    async for event in talk.runner.run_async(**talk.ids, new_message=say("go"), invocation_id="e-1"):
        events.append(event)
        if len(events) == 2:
            talk.runner.cancel("e-1")
    cut_off = {(event.text(), event.branch) for event in events if event.interrupted}
    assert cut_off == {("a", "par.a"), ("b", "par.b")}


async def test_what_waits_for_its_session_is_stopped_at_once_and_without_a_trace() -> None:
    """R2: the one that runs, and the one behind it, go on."""
    opened = asyncio.Event()
    talk = await Talk.begin(LlmAgent(name="clerk", model=ScriptedModel(turns=[opened, "third"])))
    first, second, third = (
        asyncio.create_task(talk.say(text, f"e-{text}")) for text in ("one", "two", "three")
    )
    await asyncio.sleep(0)
    assert talk.runner.cancel("e-two")
    assert await asyncio.wait_for(second, 5) == []
    assert not talk.runner.cancel("e-two")
    opened.set()
    await asyncio.wait_for(asyncio.gather(first, third), 5)
    assert await talk.texts() == ["one", "released", "three", "third"]


async def test_what_is_stopped_while_its_session_is_loaded_leaves_no_trace() -> None:
    """R2: also when the session comes all the same."""
    talk = await Talk.begin(LlmAgent(name="clerk", model=ScriptedModel(turns=["never said"])))
    load = talk.runner.session_service.get_session

    async def load_and_stop(**key: Any) -> Session | None:
        talk.runner.cancel("e-1")
        return await load(**key)

    talk.runner.session_service.get_session = load_and_stop  # type: ignore[method-assign]
    assert await talk.say("go", "e-1") == []
    assert await talk.texts() == []


async def test_who_is_cancelled_while_it_waits_for_its_session_is_cancelled() -> None:
    """L7."""
    agent, began = gate()
    talk = await Talk.begin(agent)
    first, second = (asyncio.create_task(talk.say(text, "e-1")) for text in ("one", "two"))
    await began.wait()
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert talk.runner.cancel("e-1")
    await first
    assert await talk.texts() == ["one", ""]


async def test_a_stop_is_for_all_that_run_or_wait_under_its_id() -> None:
    """R2."""
    agent, began = gate()
    talk = await Talk.begin(agent)
    first, second = (asyncio.create_task(talk.say(text, "e-1")) for text in ("one", "two"))
    await began.wait()
    assert talk.runner.cancel("e-1")
    ended = await asyncio.wait_for(asyncio.gather(first, second), 5)
    assert [[event.interrupted for event in events] for events in ended] == [[True], []]


async def test_an_invocation_that_got_its_id_from_the_runner_is_stopped_by_it() -> None:
    """R2, L2."""
    agent, began = gate()
    talk = await Talk.begin(agent)
    listening = asyncio.create_task(talk.say("go"))
    await began.wait()
    session = await talk.runner.session_service.get_session(app_name="t", **talk.ids)
    assert session is not None
    assert talk.runner.cancel(session.events[0].invocation_id)
    assert [event.interrupted for event in await listening] == [True]
