"""Cancellation of an invocation: committed events stay, and events record the cancellation (contract R2)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from runtime.agents import LlmAgent
from runtime.agents.run_config import RunConfig, StreamingMode
from runtime.events import Event
from runtime.models import BaseLlm, LlmRequest, LlmResponse
from runtime.runners import InMemoryRunner
from tests.fakes import ScriptedModel, call, say, text_content
from tests.served_agents import wait_for_requests

CLOSED: list[str] = []


class Hanging(BaseLlm):
    """Streams a few words, then hangs."""

    model: str = "hanging"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        try:
            for word in ("once ", "upon "):
                yield LlmResponse(content=text_content(word), partial=True)
            await asyncio.Event().wait()
        finally:
            CLOSED.append("model")


async def begin(runner: InMemoryRunner) -> dict[str, Any]:
    session = await runner.session_service.create_session(app_name="t", user_id="u")
    return {"user_id": "u", "session_id": session.id}


async def stored(runner: InMemoryRunner, ids: dict[str, Any]) -> list[Event]:
    session = await runner.session_service.get_session(app_name="t", **ids)
    assert session is not None
    return session.events


async def test_cancel_closes_the_model_and_keeps_the_partial_text() -> None:
    CLOSED.clear()
    runner = InMemoryRunner(LlmAgent(name="bard", model=Hanging()), app_name="t")
    ids = await begin(runner)
    seen: list[Event] = []

    async def listen() -> None:
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        async for event in runner.run_async(
            **ids, new_message=say("a tale"), invocation_id="e-1", run_config=config
        ):
            seen.append(event)
            if event.text() == "upon ":
                asyncio.get_running_loop().call_soon(runner.cancel, "e-1")

    await asyncio.wait_for(listen(), 5)
    assert CLOSED == ["model"]
    last = (await stored(runner, ids))[-1]
    assert (last.author, last.text(), last.interrupted) == ("bard", "once upon ", True)
    assert seen[-1].id == last.id
    assert runner.cancel("e-1") is False


async def test_cancel_stops_tools_and_seals_their_calls() -> None:
    started = asyncio.Event()
    ended: list[str] = []

    async def wait() -> str:
        """Wait forever."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("tool")
        return ""

    runner = InMemoryRunner(
        LlmAgent(name="clerk", model=ScriptedModel(turns=[call("wait")]), tools=[wait]), app_name="t"
    )
    ids = await begin(runner)

    async def stop() -> None:
        await started.wait()
        assert runner.cancel("e-1")

    stopping = asyncio.create_task(stop())
    events = [event async for event in runner.run_async(**ids, new_message=say("go"), invocation_id="e-1")]
    await stopping
    assert ended == ["tool"]
    assert [event.interrupted for event in events] == [None, None, True]
    assert events[1].get_function_responses()[0].response == {
        "status": "interrupted",
        "error": "The call was stopped; it may have had effects.",
    }


async def test_the_caller_continues_after_a_cancel_and_the_next_message_is_answered() -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[gate, "hello"])
    runner = InMemoryRunner(LlmAgent(name="clerk", model=model), app_name="t")
    ids = await begin(runner)

    async def stop() -> None:
        await wait_for_requests(model, 1)
        runner.cancel("e-1")

    stopping = asyncio.create_task(stop())
    async for _ in runner.run_async(**ids, new_message=say("one"), invocation_id="e-1"):
        pass
    await stopping
    answers = [event.text() async for event in runner.run_async(**ids, new_message=say("two"))]
    assert answers == ["hello"]


async def test_a_cancellation_of_the_callers_task_reaches_the_caller() -> None:
    """Contract L7."""
    model = ScriptedModel(turns=[asyncio.Event()])
    runner = InMemoryRunner(LlmAgent(name="clerk", model=model), app_name="t")
    ids = await begin(runner)

    async def listen() -> None:
        async for _ in runner.run_async(**ids, new_message=say("one")):
            pass

    task = asyncio.create_task(listen())
    await wait_for_requests(model, 1)
    task.cancel()
    result = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(result[0], asyncio.CancelledError)
    assert [event.author for event in await stored(runner, ids)] == ["user"]
