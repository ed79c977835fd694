"""Contract T5, Q10, L8: calls that are answered later, from outside and in any order."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from itertools import permutations
from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.errors import InvalidMessageError
from runtime.events import Event
from runtime.events.calls import has_pending_calls
from runtime.models import LlmRequest, LlmResponse
from runtime.run_config import RunConfig, StreamingMode
from runtime.tools import LongRunningFunctionTool
from runtime.tools.tool_result import ToolError
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation, outline


class Office:
    """A session with an agent whose long-running tool records its calls."""

    def __init__(self, *turns: Any, first_result: Any = None) -> None:
        self.started: list[str] = []
        self.first_result = first_result

        def approve(what: str = "") -> Any:
            """Ask the boss."""
            self.started.append(what)
            return self.first_result

        def note(what: str = "") -> str:
            """Take a note."""
            return f"noted {what}"

        self.model = ScriptedModel(turns=list(turns))
        self.conversation = Conversation(
            LlmAgent(name="clerk", model=self.model, tools=[LongRunningFunctionTool(approve), note])
        )

    async def say(self, words: str, run_config: RunConfig | None = None) -> list[Event]:
        return await self.conversation.say(words, run_config)

    async def answer(self, call_id: str, **response: Any) -> list[Event]:
        part = types.FunctionResponse(id=call_id, name="approve", response=response)
        content = types.Content(role="user", parts=[types.Part(function_response=part)])
        return await self.conversation.say(content)

    async def log(self) -> list[str]:
        return outline((await self.conversation.session()).events)

    def sent(self) -> list[str]:
        """Return the contents of the last request, one line each."""
        return [
            " | ".join(_describe(part) for part in content.parts or [])
            for content in self.model.requests[-1].contents
        ]


def _describe(part: types.Part) -> str:
    if part.function_call:
        return f"{part.function_call.name}({part.function_call.id})"
    if part.function_response:
        return f"{part.function_response.id}={part.function_response.response}"
    return part.text or ""


async def test_a_call_without_a_first_result_pauses_and_its_answer_resumes() -> None:
    office = Office([types.Part(text="I ask."), call("approve", "c1", what="trip")], "approved!")
    events = await office.say("may I?")
    assert outline(events) == ["clerk: approve() I ask."]
    assert events[0].long_running_tool_ids == {"c1"}
    assert events[0].is_final_response()
    assert outline(await office.answer("c1", verdict="yes")) == ["clerk: approved!"]
    assert office.sent() == ["may I?", "I ask. | approve(c1)", "c1={'verdict': 'yes'}"]
    assert office.started == ["trip"]
    assert await office.log() == [
        "user: may I?",
        "clerk: approve() I ask.",
        "user: =approve",
        "clerk: approved!",
    ]


async def test_a_first_result_goes_to_the_model_in_the_same_turn() -> None:
    """Contract Q10."""
    office = Office(call("approve", "c1"), "I asked.", "approved!", first_result={"status": "pending"})
    assert outline(await office.say("may I?")) == ["clerk: approve()", "clerk: =approve", "clerk: I asked."]
    assert office.sent()[-1] == "c1={'status': 'pending'}"
    assert outline(await office.answer("c1", verdict="yes")) == ["clerk: approved!"]
    assert office.started == [""]


async def test_the_answer_replaces_the_pending_response_and_texts_in_between_are_left_out() -> None:
    """Contract Q10, A7."""
    office = Office(
        call("approve", "c1"),
        "I asked.",
        "Still waiting.",
        "approved!",
        "Anything else?",
        first_result={"status": "pending"},
    )
    await office.say("may I?")
    await office.say("and now?")
    await office.answer("c1", verdict="yes")
    assert office.sent() == ["may I?", "approve(c1)", "c1={'verdict': 'yes'}"]
    await office.say("thanks")
    assert office.sent() == [
        "may I?",
        "approve(c1)",
        "c1={'verdict': 'yes'}",
        "I asked.",
        "and now?",
        "Still waiting.",
        "approved!",
        "thanks",
    ]


@pytest.mark.parametrize(
    "refusal", [ToolError("The boss is away."), {"status": "error", "error": "The boss is away."}]
)
async def test_a_tool_that_could_not_start_does_not_pause(refusal: Any) -> None:
    office = Office(call("approve", "c1"), "The boss is away.", first_result=refusal)
    events = await office.say("may I?")
    assert outline(events) == ["clerk: approve()", "clerk: =approve", "clerk: The boss is away."]
    assert office.sent()[-1] == "c1={'status': 'error', 'error': 'The boss is away.'}"


async def test_t5_a_call_whose_result_has_the_status_failed_waits_for_no_answer() -> None:
    office = Office(
        call("approve", "c1"), "It failed.", first_result={"status": "failed", "reason": "The boss is away."}
    )
    await office.say("may I?")
    assert office.sent()[-1] == "c1={'status': 'failed', 'reason': 'The boss is away.'}"
    assert not has_pending_calls((await office.conversation.session()).events)


async def test_the_results_of_other_calls_are_recorded_while_one_is_pending() -> None:
    office = Office([call("note", "n1", what="it"), call("approve", "c1")], "approved and noted")
    events = await office.say("go")
    assert outline(events) == ["clerk: note() approve()", "clerk: =note"]
    assert events[0].long_running_tool_ids == {"c1"}
    await office.answer("c1", verdict="yes")
    assert office.sent() == [
        "go",
        "note(n1) | approve(c1)",
        "n1={'result': 'noted it'} | c1={'verdict': 'yes'}",
    ]


@pytest.mark.parametrize("order", list(permutations(["c1", "c2", "c3"])))
async def test_answers_may_arrive_in_any_order_and_no_call_is_executed_twice(
    order: tuple[str, ...],
) -> None:
    calls = [call("approve", call_id, what=call_id) for call_id in ("c1", "c2", "c3")]
    office = Office(calls, *["so far"] * 3, "summary")
    await office.say("go")
    for call_id in order:
        await office.answer(call_id, verdict=call_id)
    assert office.started == ["c1", "c2", "c3"]
    await office.say("and?")
    answers = " | ".join(f"{call_id}={{'verdict': '{call_id}'}}" for call_id in ("c1", "c2", "c3"))
    assert office.sent()[:3] == ["go", "approve(c1) | approve(c2) | approve(c3)", answers]


async def test_several_answers_may_be_in_one_message() -> None:
    office = Office([call("approve", "c1"), call("approve", "c2")], "both")
    await office.say("go")
    parts = [
        types.Part(function_response=types.FunctionResponse(id=id_, name="approve", response={"v": id_}))
        for id_ in ("c2", "c1")
    ]
    await office.conversation.say(types.Content(role="user", parts=parts))
    assert office.sent()[1:] == ["approve(c1) | approve(c2)", "c1={'v': 'c1'} | c2={'v': 'c2'}"]


async def test_answers_to_calls_of_two_events_may_be_in_one_message() -> None:
    office = Office(call("approve", "c1"), call("approve", "c2"), "both")
    await office.say("one")
    await office.say("two")
    parts = [
        types.Part(function_response=types.FunctionResponse(id=id_, name="approve", response={"v": id_}))
        for id_ in ("c1", "c2")
    ]
    await office.conversation.say(types.Content(role="user", parts=parts))
    assert [line for line in office.sent() if "=" in line] == ["c1={'v': 'c1'}", "c2={'v': 'c2'}"]


async def test_a_person_may_send_messages_while_a_call_is_pending() -> None:
    """Contract A7: the pending call is not sent and not executed again."""
    office = Office(call("approve", "c1"), "The boss is busy.", "approved!")
    await office.say("may I?")
    assert outline(await office.say("what takes so long?")) == ["clerk: The boss is busy."]
    assert office.sent() == ["may I?", "what takes so long?"]
    assert outline(await office.answer("c1", verdict="yes")) == ["clerk: approved!"]
    assert office.started == [""]


async def test_an_answer_goes_to_the_agent_that_made_the_call() -> None:
    """Contract L8."""
    office = Office()
    asker = LlmAgent(
        name="asker",
        model=ScriptedModel(turns=[call("approve", "c1"), "approved!"]),
        tools=[LongRunningFunctionTool(_approve)],
        disallow_transfer_to_parent=True,
    )
    root = LlmAgent(
        name="root",
        model=ScriptedModel(turns=[call("transfer_to_agent", agent_name="asker"), "root again"]),
        sub_agents=[asker],
    )
    office.conversation = Conversation(root)
    await office.say("go")
    assert outline(await office.say("meanwhile")) == ["root: root again"]
    assert outline(await office.answer("c1", verdict="yes")) == ["asker: approved!"]


async def test_an_answer_to_an_unknown_call_is_refused() -> None:
    """Contract T5."""
    office = Office("never said")
    with pytest.raises(InvalidMessageError, match=r"Function call not found.*'c9' of 'approve'"):
        await office.answer("c9", verdict="yes")
    assert (await office.conversation.session()).events == []


def _approve() -> None:
    """Ask the boss."""


_approve.__name__ = "approve"


async def test_text_beside_an_answer_is_sent() -> None:
    """Contract A7."""
    office = Office(call("approve", "c1"), "approved!")
    await office.say("may I?")
    part = types.FunctionResponse(id="c1", name="approve", response={"verdict": "yes"})
    parts = [types.Part(function_response=part), types.Part(text="and hurry")]
    await office.conversation.say(types.Content(role="user", parts=parts))
    assert office.sent() == ["may I?", "approve(c1)", "c1={'verdict': 'yes'}", "and hurry"]


class Fragments(ScriptedModel):
    """Streams its calls one by one, without ids, then the whole response; each response has its own objects."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        def answer(*names: str, partial: bool) -> LlmResponse:
            parts = [types.Part(text="I ask."), *(call(name) for name in names)]
            return LlmResponse(content=types.Content(role="model", parts=parts), partial=partial)

        yield answer(partial=True)
        yield answer("approve", partial=True)
        yield answer("note", partial=True)
        yield answer("approve", "note", partial=False)


async def test_generated_ids_are_the_same_in_partial_events_and_in_the_whole_event() -> None:
    """Contract T5, Q3."""
    office = Office()
    agent = office.conversation.runner.agent
    assert isinstance(agent, LlmAgent)
    agent.model = Fragments()
    events = await office.say("go", RunConfig(streaming_mode=StreamingMode.SSE))
    _, first, second, whole = events[:4]
    [approve], [note] = first.get_function_calls(), second.get_function_calls()
    assert [function_call.id for function_call in whole.get_function_calls()] == [approve.id, note.id]
    assert (approve.id or "").startswith("adk-")
    assert first.long_running_tool_ids == whole.long_running_tool_ids == {approve.id}
    assert second.long_running_tool_ids is None
