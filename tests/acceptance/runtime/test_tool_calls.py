"""Contract A8, T2, T4, Q1 to Q3, Q5: the function calls of a step, and the one event that answers them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.models import LlmRequest, LlmResponse
from runtime.tools import BaseTool, FunctionTool, ToolContext
from tests.acceptance.runtime.clerk import STREAMING, add, answers, clerk, fails, nothing
from tests.fakes import ScriptedModel, call, parts_of, requests_of, text_content
from tests.unit.runtime.conversation import Conversation, outline


async def test_a_turn_with_a_call_has_three_events() -> None:
    """Contract A8, E8, Q2."""
    agent = clerk(call("add", "c1", a=2, b=3), "five", tools=[add])
    conversation = Conversation(agent)
    events = await conversation.say("2 + 3?")
    called, answered, final = events
    assert outline(events) == ["clerk: add()", "clerk: =add", "clerk: five"]
    assert [event.content and event.content.role for event in events] == ["model", "user", "model"]
    assert answers(answered) == {"add": {"result": 5}}
    assert answered.get_function_responses()[0].id == called.get_function_calls()[0].id == "c1"
    assert [event.is_final_response() for event in events] == [False, False, True]
    assert len({event.invocation_id for event in events}) == 1
    assert [event.id for event in (await conversation.session()).events[1:]] == [
        called.id,
        answered.id,
        final.id,
    ]
    assert [content.role for content in requests_of(agent)[1].contents] == ["user", "model", "user"]


async def test_text_and_call_of_one_response_are_one_event() -> None:
    """Contract A8."""
    agent = clerk([types.Part(text="Let me see."), call("add", a=1)], "two", tools=[add])
    assert outline(await Conversation(agent).say("?")) == [
        "clerk: add() Let me see.",
        "clerk: =add",
        "clerk: two",
    ]


async def test_parallel_calls_are_answered_by_one_event_in_call_order() -> None:
    """Contract T2, Q1."""
    both_run = asyncio.Event()

    async def first() -> str:
        """Wait for the second."""
        await asyncio.wait_for(both_run.wait(), timeout=10)
        return "1"

    async def second() -> str:
        """Let the first go on."""
        both_run.set()
        return "2"

    agent = clerk([call("first"), call("second"), call("first")], "done", tools=[first, second])
    events = await Conversation(agent).say("go")
    assert outline(events) == [
        "clerk: first() second() first()",
        "clerk: =first =second =first",
        "clerk: done",
    ]
    call_ids = [function_call.id for function_call in events[0].get_function_calls()]
    assert [response.id for response in events[1].get_function_responses()] == call_ids


async def test_the_actions_of_the_calls_are_merged_in_call_order() -> None:
    """Contract T2, Q1: the order of completion does not matter."""
    written = asyncio.Event()

    async def early(tool_context: ToolContext) -> None:
        """Write last."""
        await asyncio.wait_for(written.wait(), timeout=10)
        tool_context.state["k"] = "early"
        tool_context.state["only_early"] = 1
        await tool_context.save_artifact("f", types.Part(text="x"))

    async def late(tool_context: ToolContext) -> None:
        """Write first."""
        tool_context.state["k"] = "late"
        tool_context.state["user:only_late"] = 2
        written.set()

    conversation = Conversation(clerk([call("early"), call("late")], "done", tools=[early, late]))
    answered = (await conversation.say("go"))[1]
    assert answered.actions.state_delta == {"k": "late", "only_early": 1, "user:only_late": 2}
    assert answered.actions.artifact_delta == {"f": 0}
    assert answered.actions.model_dump(exclude_unset=True).keys() == {"state_delta", "artifact_delta"}
    assert (await conversation.session()).state == {"k": "late", "only_early": 1, "user:only_late": 2}


async def test_a_state_change_of_one_call_is_visible_to_parallel_calls_immediately() -> None:
    """Contract Q1, S6."""
    written = asyncio.Event()

    async def writer(tool_context: ToolContext) -> None:
        """Write."""
        tool_context.state["k"] = "written"
        tool_context.state["temp:t"] = "too"
        written.set()

    async def reader(tool_context: ToolContext) -> list[Any]:
        """Read."""
        await asyncio.wait_for(written.wait(), timeout=10)
        return [tool_context.state["k"], tool_context.state["temp:t"]]

    events = await Conversation(clerk([call("writer"), call("reader")], "done", tools=[writer, reader])).say(
        "go"
    )
    assert answers(events[1])["reader"] == {"result": ["written", "too"]}


async def test_changes_in_place_by_a_tool_are_committed() -> None:
    """Contract S6."""

    def add_item(item: str, tool_context: ToolContext) -> None:
        """Add an item."""
        tool_context.state["cart"]["items"].append(item)

    agent = clerk(call("add_item", item="tea"), call("add_item", item="cup"), "ok", tools=[add_item])
    conversation = Conversation(agent, state={"cart": {"items": []}})
    events = await conversation.say("go")
    assert events[1].actions.state_delta == {"cart": {"items": ["tea"]}}
    assert events[3].actions.state_delta == {"cart": {"items": ["tea", "cup"]}}
    assert (await conversation.session()).state == {"cart": {"items": ["tea", "cup"]}}


async def test_temp_state_is_readable_until_the_invocation_ends() -> None:
    """Contract S4, Q18."""
    seen = []

    def keep(tool_context: ToolContext) -> None:
        """Keep."""
        seen.append(tool_context.state.get("temp:t"))
        tool_context.state["temp:t"] = "kept"

    conversation = Conversation(clerk(call("keep"), call("keep"), "a", call("keep"), "b", tools=[keep]))
    await conversation.say("one")
    await conversation.say("two")
    assert seen == [None, "kept", None]
    stored = await conversation.session()
    assert stored.state == {}
    assert all(event.actions.state_delta == {} for event in stored.events)


@pytest.mark.parametrize(
    ("result", "response"),
    [
        ("text", {"result": "text"}),
        (None, {"result": None}),
        ([1], {"result": [1]}),
        ({"a": 1}, {"a": 1}),
        ({}, {}),
        (0, {"result": 0}),
        ((1, 2), {"result": [1, 2]}),
    ],
)
async def test_a_result_that_is_not_a_dict_is_wrapped(result: object, response: dict[str, Any]) -> None:
    """Contract Q2."""

    def tool() -> Any:
        """Return it."""
        return result

    events = await Conversation(clerk(call("tool"), "ok", tools=[tool])).say("go")
    assert answers(events[1]) == {"tool": response}


async def test_missing_arguments_are_reported_to_the_model_and_unknown_ones_dropped() -> None:
    """Contract Q2."""

    def book(where: str, when: str, tool_context: ToolContext, nights: int = 1) -> str:
        """Book."""
        return f"{where} {when} {nights}"

    agent = clerk(
        call("book", colour="red"), call("book", where="Rome", when="May", colour="red"), "ok", tools=[book]
    )
    events = await Conversation(agent).say("go")
    assert "where, when" in answers(events[1])["book"]["error"]
    assert answers(events[3]) == {"book": {"result": "Rome May 1"}}


async def test_an_unknown_tool_is_an_error_response_that_lists_the_tools() -> None:
    """Contract T4."""
    agent = clerk([call("subtract"), call("add", a=1)], "ok", tools=[add, nothing])
    events = await Conversation(agent).say("go")
    response = answers(events[1])
    assert response["add"] == {"result": 2}
    assert "'subtract'" in response["subtract"]["error"]
    assert "add, nothing" in response["subtract"]["error"]
    assert outline(events)[-1] == "clerk: ok"


async def test_when_a_tool_raises_finished_calls_are_stored_and_the_invocation_ends() -> None:
    """Contract T4, L5."""

    async def done(tool_context: ToolContext) -> str:
        """Finish at once."""
        tool_context.state["done"] = True
        return "done"

    async def raises() -> None:
        """Raise."""
        raise LookupError("lost")

    conversation = Conversation(clerk([call("done"), call("raises")], tools=[done, raises]))
    with pytest.raises(LookupError, match="lost"):
        await conversation.say("go")
    stored = await conversation.session()
    assert outline(stored.events) == [
        "user: go",
        "clerk: done() raises()",
        "clerk: =done",
        "clerk: !LookupError",
    ]
    assert stored.state == {"done": True}


async def test_after_a_failure_flow_control_of_finished_calls_is_dropped() -> None:
    """Contract T4: an escalation in the failed step is not recorded."""

    async def leave(tool_context: ToolContext) -> None:
        """Escalate."""
        tool_context.actions.escalate = True

    async def raises() -> None:
        """Raise."""
        raise LookupError("lost")

    conversation = Conversation(clerk([call("leave"), call("raises")], tools=[leave, raises]))
    with pytest.raises(LookupError):
        await conversation.say("go")
    assert not any(event.actions.escalate for event in (await conversation.session()).events)


async def test_the_session_can_be_continued_after_a_failed_invocation() -> None:
    """Contract L5, A7: the call without an answer is not sent."""
    agent = clerk(call("fails"), "I am back", tools=[fails])
    conversation = Conversation(agent)
    with pytest.raises(LookupError):
        await conversation.say("one")
    assert outline(await conversation.say("two")) == ["clerk: I am back"]
    assert [parts_of(content)[0].text for content in requests_of(agent)[1].contents] == ["one", "two"]


@pytest.mark.parametrize("is_async", [True, False])
async def test_an_error_callback_may_answer_for_a_tool_that_raises(is_async: bool) -> None:
    """Contract T4, C1."""
    seen: list[Any] = []

    def answer(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, error: Exception) -> Any:
        seen.append((tool.name, args, str(error)))
        tool_context.state["failed"] = tool.name
        return {"error": "try again"}

    async def answer_later(**kwargs: Any) -> Any:
        return answer(**kwargs)

    agent = clerk(
        call("fails"), "sorry", tools=[fails], on_tool_error_callback=answer_later if is_async else answer
    )
    events = await Conversation(agent).say("go")
    assert answers(events[1]) == {"fails": {"error": "try again"}}
    assert events[1].actions.state_delta == {"failed": "fails"}
    assert seen == [("fails", {}, "lost")]
    assert outline(events)[-1] == "clerk: sorry"


async def test_a_response_object_used_twice_gets_new_ids_and_is_not_changed() -> None:
    """Contract Q3: for example a response that a callback caches."""
    kept = LlmResponse(content=types.Content(role="model", parts=[call("add", a=1)]))
    answers = [kept, kept, None]
    agent = clerk(
        "done", tools=[add], before_model_callback=lambda callback_context, llm_request: answers.pop(0)
    )
    events = await Conversation(agent).say("go")
    first, second = (function_call.id for event in events for function_call in event.get_function_calls())
    assert first != second
    assert kept.content and kept.content.parts and kept.content.parts[0].function_call
    assert kept.content.parts[0].function_call.id is None


async def test_missing_call_ids_are_generated_and_not_sent_to_the_model() -> None:
    """Contract Q3."""
    agent = clerk([call("add", a=1), call("add", "own", a=2)], "ok", tools=[add])
    events = await Conversation(agent).say("go")
    generated, own = (function_call.id for function_call in events[0].get_function_calls())
    assert str(generated).startswith("adk-") and own == "own"
    assert [response.id for response in events[1].get_function_responses()] == [generated, own]
    model, user = requests_of(agent)[1].contents[1:]
    assert [part.function_call and part.function_call.id for part in parts_of(model)] == [None, "own"]
    assert [part.function_response and part.function_response.id for part in parts_of(user)] == [None, "own"]


async def test_changed_arguments_are_passed_to_the_tool_but_not_recorded() -> None:
    """Contract Q5."""

    def change(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> None:
        args["a"] = 40
        args["b"] = 2

    agent = clerk(call("add", a=1), "ok", tools=[add], before_tool_callback=change)
    conversation = Conversation(agent)
    events = await conversation.say("go")
    assert answers(events[1]) == {"add": {"result": 42}}
    for event in (events[0], (await conversation.session()).events[1]):
        assert event.get_function_calls()[0].args == {"a": 1}


async def test_changing_a_result_later_does_not_change_the_event() -> None:
    """Contract Q1."""
    shared = {"n": 1}

    def lend() -> dict[str, int]:
        """Lend the dict."""
        return shared

    events = await Conversation(clerk(call("lend"), "ok", tools=[lend])).say("go")
    shared["n"] = 2
    assert answers(events[1]) == {"lend": {"n": 1}}


async def test_skip_summarization_ends_the_turn_with_the_function_response() -> None:
    """Contract E4, Q9."""

    def final(tool_context: ToolContext) -> str:
        """Say the last word."""
        tool_context.actions.skip_summarization = True
        return "last word"

    agent = clerk(call("final"), tools=[final])
    events = await Conversation(agent).say("go")
    assert outline(events) == ["clerk: final()", "clerk: =final"]
    assert events[-1].is_final_response()


async def test_a_streamed_call_is_executed_once() -> None:
    """Contract L4, T5: calls in partial events are not executed."""
    runs = []

    def once() -> str:
        """Count."""
        runs.append(1)
        return "ok"

    class Fragments(ScriptedModel):
        async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
            self.requests.append(llm_request)
            if len(self.requests) == 2:
                yield LlmResponse(content=text_content("done"))
                return
            part = call("once", "c1")
            yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)
            yield LlmResponse(content=types.Content(role="model", parts=[part]))

    agent = LlmAgent(name="clerk", model=Fragments(), tools=[once])
    events = await Conversation(agent).say("go", STREAMING)
    assert outline(events) == ["clerk: once()", "clerk: once()", "clerk: =once", "clerk: done"]
    assert runs == [1]


async def test_a_tool_object_is_used_unchanged() -> None:
    """Contract A2."""
    events = await Conversation(clerk(call("add", a=1), "ok", tools=[FunctionTool(add)])).say("go")
    assert answers(events[1]) == {"add": {"result": 2}}
