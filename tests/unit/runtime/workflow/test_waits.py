"""Nodes that wait until a time or for a duration (contract W6)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from runtime import _platform, types
from runtime.errors import ConfigurationError
from runtime.events import Event
from runtime.run_config import RunConfig
from runtime.workflow import NodeContext, WaitNode, Workflow
from tests.fakes import pending_calls, say
from tests.unit.runtime.conversation import Conversation

NOW = 1_700_000_000.0


class Clock:
    """A clock that stands still, and sleeps that end when another node has run.

    Attributes:
        slept: seconds of each sleep.
    """

    def __init__(self) -> None:
        self.now = NOW
        self.slept: list[float] = []
        self.has_run = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds:
            self.slept.append(seconds)
            await asyncio.wait_for(self.has_run.wait(), 20)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(_platform, "now", lambda: clock.now)
    monkeypatch.setattr("runtime.workflow.wait_node.asyncio.sleep", clock.sleep)
    return clock


def follow(node_input: str) -> str:
    return f"after the wait: {node_input}"


def waiting(clock: Clock, **fields: Any) -> Workflow:
    """Return a workflow with one slot, which waits, and runs another node meanwhile."""
    wait = WaitNode(name="wait", **fields)

    def meanwhile() -> None:
        clock.has_run.set()

    return Workflow(name="flow", edges=[("START", (wait, meanwhile)), (wait, follow)], max_concurrency=1)


class Site:
    """Takes over waits, as a site does whose processes may end.

    Attributes:
        staged: ends of the waits by name.
    """

    def __init__(self) -> None:
        self.staged: dict[str, datetime] = {}
        self.config = RunConfig(stage_wait=self._stage)

    def _stage(self, name: str, context: Any, until: datetime) -> dict[str, Any]:
        assert context.function_call_id
        self.staged[name] = until
        return {"status": "queued"}

    async def answer(self, conversation: Conversation, response: dict[str, Any]) -> list[Event]:
        """Answer the call of the only wait."""
        [call_id] = pending_calls((await conversation.session()).events)
        part = types.Part.from_function_response(name="wait", response=response)
        assert part.function_response is not None
        part.function_response.id = call_id
        return await conversation.say(types.UserContent(part), self.config)


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({"seconds": 90}, [90.0]),
        ({"until": datetime.fromtimestamp(NOW + 60, UTC)}, [60.0]),
        ({"until": datetime.fromtimestamp(NOW - 60, UTC)}, []),
    ],
)
async def test_a_wait_lets_others_run_and_passes_its_input_on(
    clock: Clock, fields: dict[str, Any], seconds: list[float]
) -> None:
    events = await Conversation(waiting(clock, **fields)).say("go")
    assert clock.slept == seconds
    assert clock.has_run.is_set()
    assert events[-1].output == "after the wait: go"


async def test_an_interrupted_wait_ends_when_it_would_have_ended(clock: Clock) -> None:
    conversation = Conversation(waiting(clock, seconds=90))
    session_id = (await conversation.session()).id
    run = conversation.runner.run_async(user_id="ada", session_id=session_id, new_message=say("go"))
    async for event in run:
        if event.get_function_calls():
            break
    await run.aclose()  # a crash while the process waits
    clock.now += 80
    clock.slept.clear()
    resumed = conversation.runner.run_async(
        user_id="ada", session_id=session_id, invocation_id=event.invocation_id
    )
    events = [event async for event in resumed]
    assert clock.slept == [10.0]
    assert events[-1].output == "after the wait: go"


async def test_a_site_takes_over_the_wait_and_answers_its_call(clock: Clock) -> None:
    site = Site()
    conversation = Conversation(waiting(clock, seconds=90))
    events = await conversation.say("go", site.config)
    assert site.staged == {"wait": datetime.fromtimestamp(NOW + 90, UTC)}
    assert [event.output for event in events if event.output] == []
    events = await site.answer(conversation, {"status": "succeeded"})
    assert events[-1].output == "after the wait: go"
    assert clock.slept == []


async def test_nothing_follows_a_wait_that_was_cancelled(clock: Clock) -> None:
    site = Site()
    conversation = Conversation(waiting(clock, seconds=90))
    await conversation.say("go", site.config)
    assert await site.answer(conversation, {"status": "cancelled", "error": "Cancelled."}) == []
    assert pending_calls((await conversation.session()).events) == {}


async def test_the_code_of_a_node_waits(clock: Clock) -> None:
    async def remind(node_input: str, ctx: NodeContext) -> str:
        until = datetime.fromtimestamp(NOW + len(node_input), UTC)
        return str(await ctx.run_node(WaitNode(name="wait", until=until), "due"))

    site = Site()
    conversation = Conversation(Workflow(name="flow", edges=[("START", remind)]))
    await conversation.say("four", site.config)
    assert site.staged == {"wait": datetime.fromtimestamp(NOW + 4, UTC)}
    events = await site.answer(conversation, {"status": "succeeded"})
    assert events[-1].output == "due"


@pytest.mark.parametrize("fields", [{}, {"seconds": 1, "until": datetime.now(UTC)}])
def test_a_wait_must_know_its_end(fields: dict[str, Any]) -> None:
    with pytest.raises(
        ConfigurationError, match=r"Node 'wait' must know how long to wait\. Set seconds, or until"
    ):
        WaitNode(name="wait", **fields)


@pytest.mark.parametrize(
    "fields",
    [{"seconds": 0}, {"seconds": float("nan")}, {"seconds": float("inf")}, {"until": "2030-01-01T00:00"}],
)
def test_a_wait_has_a_length_or_a_time_with_an_offset(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        WaitNode(name="wait", **fields)
