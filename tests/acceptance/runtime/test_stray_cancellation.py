"""Contract L5, L7, T4: a `CancelledError` while the invocation is not cancelled counts as a failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from runtime.agents import BaseAgent, InvocationContext, LlmAgent, ParallelAgent, SequentialAgent
from runtime.errors import StrayCancellationError
from runtime.events import Event
from runtime.models import LlmRequest, LlmResponse
from runtime.tools import AgentTool
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation, outline


async def cancelled_elsewhere() -> None:
    """Wait for a task that is cancelled."""
    task = asyncio.create_task(asyncio.sleep(60))
    asyncio.get_running_loop().call_soon(task.cancel)
    await task


async def cancelled_itself() -> None:
    """Cancel the task that runs the tool."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().call_soon(task.cancel)
    await asyncio.sleep(60)


async def note() -> str:
    """Note."""
    return "noted"


TOOLS = [cancelled_elsewhere, cancelled_itself, note]


def clerk(*turns: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(turns=list(turns)), tools=TOOLS, **fields)


class CancelledAgent(BaseAgent):
    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        await cancelled_elsewhere()
        yield Event(author=self.name)


class CancelledModel(ScriptedModel):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        await cancelled_elsewhere()
        yield LlmResponse()


async def fail(agent: BaseAgent) -> tuple[StrayCancellationError, list[str]]:
    """Run an invocation that fails; return its error and the stored events. The caller's task is not cancelled."""
    conversation = Conversation(agent)
    with pytest.raises(StrayCancellationError) as raised:
        async with asyncio.timeout(10):
            await conversation.say("go")
    task = asyncio.current_task()
    assert task is not None and not task.cancelling()
    return raised.value, outline((await conversation.session()).events)[1:]


@pytest.mark.parametrize("tool", ["cancelled_elsewhere", "cancelled_itself"])
async def test_a_cancelled_tool_fails_with_an_error_that_names_it(tool: str) -> None:
    """Contract L5, T4."""
    error, log = await fail(clerk(call(tool)))
    assert tool in str(error)
    assert log == [f"clerk: {tool}()", "clerk: !StrayCancellationError"]


@pytest.mark.parametrize("tool", ["cancelled_elsewhere", "cancelled_itself"])
async def test_responses_of_parallel_calls_are_stored_and_no_further_step_runs(tool: str) -> None:
    """Contract T2, L5."""
    agent = clerk([call("note"), call(tool)], "never said")
    _, log = await fail(agent)
    assert log == [f"clerk: note() {tool}()", "clerk: =note", "clerk: !StrayCancellationError"]


async def test_an_error_callback_may_answer_for_the_tool() -> None:
    """Contract T4."""

    def answer(error: Exception, **_: Any) -> dict[str, str]:
        return {"told": type(error).__name__}

    agent = clerk(call("cancelled_elsewhere"), "I see.", on_tool_error_callback=answer)
    events = await Conversation(agent).say("go")
    assert events[1].get_function_responses()[0].response == {"told": "StrayCancellationError"}
    assert outline(events)[-1] == "clerk: I see."


async def from_a_callback(**_: Any) -> None:
    await cancelled_elsewhere()


@pytest.mark.parametrize(
    "make",
    [
        lambda: clerk(call("note"), before_tool_callback=from_a_callback),
        lambda: clerk(call("note"), after_tool_callback=from_a_callback),
        lambda: clerk("hello", before_model_callback=from_a_callback),
        lambda: clerk("hello", before_agent_callback=from_a_callback),
        lambda: LlmAgent(name="odd", model=CancelledModel()),
        lambda: CancelledAgent(name="odd"),
        lambda: SequentialAgent(name="line", sub_agents=[CancelledAgent(name="odd"), clerk("never said")]),
        lambda: LlmAgent(
            name="root",
            model=ScriptedModel(turns=[call("odd", request="go")]),
            tools=[AgentTool(CancelledAgent(name="odd"))],
        ),
    ],
    ids=["before tool", "after tool", "before model", "before agent", "model", "agent", "step", "agent tool"],
)
async def test_a_cancelled_callback_model_or_agent_fails_with_a_stray_cancellation_error(
    make: Callable[[], BaseAgent],
) -> None:
    """Contract L5."""
    error, log = await fail(make())
    assert isinstance(error.__cause__, asyncio.CancelledError)
    assert not any("said" in line or "hello" in line for line in log)


async def test_the_error_names_the_parallel_agent_and_its_siblings_are_stopped() -> None:
    """Contract L5, A5."""
    waiting = LlmAgent(name="waiting", model=ScriptedModel(turns=[asyncio.Event()]))
    error, log = await fail(ParallelAgent(name="both", sub_agents=[CancelledAgent(name="odd"), waiting]))
    assert "'odd'" in str(error)
    assert log == ["both: !StrayCancellationError"]


async def test_an_invocation_cancelled_together_with_its_tool_is_cancelled() -> None:
    """Contract L7."""
    began = asyncio.Event()

    async def wait(task: asyncio.Task[None]) -> None:
        began.set()
        await task

    async def tool() -> None:
        """Wait for a task that is cancelled with the caller."""
        await wait(inner)

    inner = asyncio.create_task(asyncio.sleep(60))
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=[call("tool")]), tools=[tool])
    listening = asyncio.create_task(Conversation(agent).say("go"))
    await began.wait()
    inner.cancel()
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening


async def test_no_error_callback_is_called_when_the_invocation_is_cancelled() -> None:
    """Contract L7, T4."""
    began = asyncio.Event()
    errors: list[dict[str, Any]] = []

    async def hang() -> None:
        """Hang."""
        began.set()
        await asyncio.Event().wait()

    def note_error(**given: Any) -> None:
        errors.append(given)

    model = ScriptedModel(turns=[call("hang")])
    agent = LlmAgent(name="clerk", model=model, tools=[hang], on_tool_error_callback=note_error)
    listening = asyncio.create_task(Conversation(ParallelAgent(name="par", sub_agents=[agent])).say("go"))
    await began.wait()
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening
    assert errors == []
