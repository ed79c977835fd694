"""Contract L5, L7, T4: a `CancelledError` of an invocation that is not cancelled, a `SystemExit` and the like count as
failures."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from runtime.agents import BaseAgent, InvocationContext, LlmAgent, ParallelAgent, SequentialAgent
from runtime.code_executors.base_code_executor import in_code_thread
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


class Panic(BaseException):
    """Such as the panic of an extension in Rust."""


def leaves() -> None:
    """Leave the process."""
    sys.exit("bye")


async def leaves_later() -> None:
    """Leave the process."""
    sys.exit("bye")


def panics() -> None:
    """Panic."""
    raise Panic("index out of bounds")


def finds_nothing() -> str:
    """Find the first row."""
    return next(row for row in list[str]())


async def fails_as(agent: BaseAgent) -> tuple[Exception, list[str]]:
    conversation = Conversation(agent)
    with pytest.raises(Exception) as raised:  # the caller looks at its type and words
        async with asyncio.timeout(10):
            await conversation.say("go")
    return raised.value, outline((await conversation.session()).events)[1:]


@pytest.mark.parametrize(
    ("tool", "kind", "words"),
    [
        (leaves, "BaseExceptionError", "Tool 'leaves' raised SystemExit: bye"),
        (leaves_later, "BaseExceptionError", "Tool 'leaves_later' raised SystemExit: bye"),
        (panics, "BaseExceptionError", "Tool 'panics' raised Panic: index out of bounds"),
        (finds_nothing, "RuntimeError", "raised StopIteration"),
    ],
)
async def test_a_tool_that_raises_no_ordinary_exception_fails_with_an_event(
    tool: Callable[[], Any], kind: str, words: str
) -> None:
    """Contract T4."""
    name = tool.__name__
    error, log = await fails_as(
        LlmAgent(name="clerk", model=ScriptedModel(turns=[[call("note"), call(name)]]), tools=[tool, note])
    )
    assert words in str(error)
    assert log == [f"clerk: note() {name}()", "clerk: =note", f"clerk: !{kind}"]


async def test_an_error_callback_may_answer_for_a_tool_that_exits() -> None:
    """Contract T4."""

    def answer(error: Exception, **_: Any) -> dict[str, str]:
        return {"told": type(error).__name__}

    model = ScriptedModel(turns=[call("leaves"), "I see."])
    events = await Conversation(
        LlmAgent(name="clerk", model=model, tools=[leaves], on_tool_error_callback=answer)
    ).say("go")
    assert events[1].get_function_responses()[0].response == {"told": "BaseExceptionError"}
    assert outline(events)[-1] == "clerk: I see."


def exits_as_callback(**_: Any) -> None:
    sys.exit("bye")


class ExitingAgent(BaseAgent):
    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        sys.exit("bye")
        yield Event(author=self.name)


@pytest.mark.parametrize(
    "make",
    [
        lambda: clerk(call("note"), before_tool_callback=exits_as_callback),
        lambda: clerk("hello", before_model_callback=exits_as_callback),
        lambda: clerk("hello", before_agent_callback=exits_as_callback),
        lambda: ExitingAgent(name="odd"),
        lambda: ParallelAgent(name="both", sub_agents=[ExitingAgent(name="odd"), clerk(asyncio.Event())]),
    ],
    ids=["before tool", "before model", "before agent", "agent", "parallel"],
)
async def test_a_callback_or_an_agent_that_exits_fails(make: Callable[[], BaseAgent]) -> None:
    """Contract L5: a `SystemExit` of one agent does not end the event loop of all others."""
    error, log = await fails_as(make())
    assert type(error).__name__ == "BaseExceptionError"
    assert "SystemExit: bye" in str(error)
    assert not any("hello" in line for line in log)


async def test_a_code_executor_that_raises_stop_iteration_ends_the_wait() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        async with asyncio.timeout(10):
            await in_code_thread(next, iter(()))
