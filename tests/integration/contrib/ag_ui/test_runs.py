"""Contract: AG-UI's reference client chats with an agent of the site; the log decides what it has in the end."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from runtime.agents import LlmAgent
from runtime.events.request_input import RequestInput
from runtime.tools import FunctionTool, ToolContext
from runtime.tools.client_toolset import ClientToolset
from runtime.workflow import Workflow
from sessions_app.models import Artifact, Invocation, Session
from sessions_app.process.threads import in_thread
from tests.ag_ui_page import NODE, Page, page_of
from tests.fakes import ScriptedModel, call
from tests.integration.contrib.ag_ui.conftest import APP, events_in, http_client, run_input
from tests.integration.locks import blocked, held
from tests.integration.session_helpers import pack
from tests.served_agents import Served


def texts_of(result: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(message["role"], message.get("content")) for message in result["messages"]]


def kinds_of(result: dict[str, Any]) -> list[str]:
    return [event["type"] for event in result["events"]]


async def test_a_message_is_answered(page: Page, model: ScriptedModel) -> None:
    model.turns += ["Good day to you.", "Bye."]
    result = await page.run("Hello")
    assert result["error"] is None
    assert texts_of(result) == [("user", "Hello"), ("assistant", "Good day to you.")]
    assert result["outcome"]["type"] == "success"
    assert kinds_of(result)[:3] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"]
    assert "TEXT_MESSAGE_CONTENT" in kinds_of(result)
    session = await Session.objects.aget()
    assert str(session.pk) == page.thread_id
    result = await page.run("Go")
    assert texts_of(result)[2:] == [("user", "Go"), ("assistant", "Bye.")]
    assert len({message["id"] for message in result["messages"]}) == 4


async def test_a_broken_connection_loses_and_doubles_nothing(page: Page, model: ScriptedModel) -> None:
    model.pause = 0.005
    words = " ".join(f"wort{number} €😀" for number in range(30))
    model.turns.append(words)
    result = await page.run("Hello", cuts=[40, 600, 1, 400, 300, 333, 200])
    assert result["error"] is None and result["requests"] > 3
    assert texts_of(result) == [("user", "Hello"), ("assistant", words)]
    assert kinds_of(result).count("RUN_STARTED") == kinds_of(result).count("TEXT_MESSAGE_START") == 1
    assert await Invocation.objects.acount() == 1


def refund(euros: int) -> str:
    """Refund an amount."""
    return f"{euros} refunded"


def book(nights: int, tool_context: ToolContext) -> dict[str, Any]:
    """Book a room."""
    answer = tool_context.tool_confirmation
    if answer is None:
        tool_context.request_confirmation(hint="Which room?", payload={"room": "", "nights": nights})
        return {"status": "asked"}
    payload: dict[str, Any] = answer.payload or {}
    return {"booked": payload["room"]}


@pytest.fixture
def tools() -> list[Any]:
    return [FunctionTool(refund, require_confirmation=True), book, ClientToolset()]


@pytest.mark.parametrize(("approved", "outcome"), [(True, "5 refunded"), (False, "rejected")])
async def test_an_approval_is_an_interrupt(
    page: Page, model: ScriptedModel, approved: bool, outcome: str
) -> None:
    model.turns += [call("refund", euros=5), "Done."]
    asked = await page.run("Refund 5")
    [interrupt] = asked["interrupts"]
    assert asked["outcome"]["type"] == "interrupt" and interrupt["reason"] == "tool_call"
    assert interrupt["metadata"]["arguments"] == {"euros": 5}
    [made] = [call for message in asked["messages"] for call in message.get("toolCalls", ())]
    assert interrupt["toolCallId"] == made["id"] and made["function"]["name"] == "refund"
    entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": approved}}
    # The connection breaks while the run goes on.
    ended = await page.run(resume=[entry], cuts=[200, 500])
    assert ended["error"] is None and ended["interrupts"] == [] and ended["requests"] > 1
    assert [role for role, _ in texts_of(ended)] == ["user", "assistant", "tool", "assistant"]
    assert outcome in texts_of(ended)[2][1] and texts_of(ended)[3][1] == "Done."


async def test_a_page_gets_the_words_and_the_payload_of_a_tools_own_question(
    page: Page, model: ScriptedModel
) -> None:
    model.turns += [call("book", nights=2), "Booked."]
    [interrupt] = (await page.run("A room"))["interrupts"]
    assert interrupt["message"] == "Which room?"
    assert interrupt["metadata"]["payload"] == {"room": "", "nights": 2}
    answer = {"approved": True, "payload": {"room": "blue", "nights": 2}}
    entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": answer}
    ended = await page.run(resume=[entry])
    assert "blue" in texts_of(ended)[2][1]


async def test_a_different_second_answer_is_refused(
    page: Page, model: ScriptedModel, site: str, key: str
) -> None:
    model.turns += [call("refund", euros=5), "Done."]
    [interrupt] = (await page.run("Refund 5"))["interrupts"]
    statuses = []
    async with http_client(site, key) as client:
        for approved in (True, True, False):
            entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": approved}
            body = {**run_input(resume=[entry]), "threadId": page.thread_id}
            statuses.append((await client.post(f"/ag-ui/{APP}", json=body)).status_code)
    assert statuses == [200, 200, 409]


async def test_a_tool_of_the_page_is_called_and_answered(page: Page, model: ScriptedModel) -> None:
    colour = {"name": "set_colour", "description": "Colour the page.", "parameters": {"type": "object"}}
    model.turns += [call("set_colour", colour="red"), "It is red.", "Yes."]
    asked = await page.run("Red, please", tools=[colour], state={"shown": True}, context=[])
    [made] = [call for message in asked["messages"] for call in message.get("toolCalls", ())]
    assert (asked["outcome"], asked["interrupts"]) == ({"type": "success", "calls": [made["id"]]}, [])
    done = {"id": "r-1", "role": "tool", "toolCallId": made["id"], "content": "done"}
    ended = await page.run(messages=[done], tools=[colour])
    assert texts_of(ended)[-2:] == [("tool", "done"), ("assistant", "It is red.")]
    parts = [part for content in model.requests[1].contents for part in content.parts or []]
    [response] = [part.function_response for part in parts if part.function_response]
    assert response.response == {"result": "done"}
    # A later run brings no message twice, in the order of the thread.
    ended = await page.run("Sure?", tools=[colour])
    assert [role for role, _ in texts_of(ended)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    assert ended["state"] == {"shown": True}


async def test_a_tool_of_the_page_does_not_replace_one_of_the_agent(page: Page, model: ScriptedModel) -> None:
    mine = {"name": "refund", "description": "Mine.", "parameters": {"type": "object"}}
    model.turns += [call("refund", euros=5)]
    asked = await page.run("Refund 5", tools=[mine])
    assert [interrupt["reason"] for interrupt in asked["interrupts"]] == ["tool_call"]
    assert str(model.requests[0].config.tools).count("name='refund'") == 1


async def test_a_failed_run_is_an_error_in_words(page: Page, model: ScriptedModel) -> None:
    model.turns.append(ValueError("secret detail"))
    result = await page.run("Hello")
    assert kinds_of(result)[-1] == "RUN_ERROR"
    assert "secret" not in str(result["events"])
    # The page tries again, with the same message in another run.
    model.turns.append("Now it works.")
    result = await page.run()
    assert texts_of(result)[-2:] == [("user", "Hello"), ("assistant", "Now it works.")]
    # A run that has not failed is followed, and does not run twice.
    assert texts_of(await page.run())[-1] == ("assistant", "Now it works.")
    assert len(model.requests) == 2


async def test_one_message_in_two_runs_at_once_is_sent_once(
    page: Page, model: ScriptedModel, site: str, key: str
) -> None:
    model.turns += ["Good day.", ValueError("down"), "Now it works.", "Twice."]
    await page.run("Hello")
    message = {"id": "m-1", "role": "user", "content": "How are you?"}
    async with http_client(site, key) as client:
        for end in ("RUN_ERROR", "RUN_FINISHED"):
            # Both have looked for the message before either of them sends it.
            async with held("SELECT FROM sessions_app_session FOR UPDATE"):
                bodies = [{**run_input(message), "threadId": page.thread_id} for _ in range(2)]
                runs = [asyncio.create_task(client.post(f"/ag-ui/{APP}", json=body)) for body in bodies]
                await blocked(2)
            for run in runs:
                assert events_in((await run).text)[-1][1]["type"] == end
    assert len(model.requests) == await Invocation.objects.acount() == 3


async def test_a_page_that_is_opened_again_gets_the_thread(
    page: Page, model: ScriptedModel, durable: Path, site: str, key: str
) -> None:
    model.turns.append("Good day.")
    first = await page.run("Hello")
    await in_thread(pack, page.thread_id)
    async with page_of(durable, f"{site}/ag-ui/{APP}", key, page.thread_id) as again:
        result = await again.run()
    assert texts_of(result) == texts_of(first)
    assert await Invocation.objects.acount() == 1


async def test_a_message_with_too_many_files_leaves_no_thread(page: Page) -> None:
    picture = {"type": "image", "source": {"type": "data", "value": "YWJj", "mimeType": "image/png"}}
    message = {"id": "many", "role": "user", "content": [picture] * 11}
    refused = await page.run(messages=[message])
    assert "The message has 11 files; the limit is 10." in refused["error"]
    assert not await Session.objects.aexists() and not await Artifact.objects.aexists()


async def test_many_runs_of_a_thread_stay_in_order(page: Page, model: ScriptedModel) -> None:
    runs = 100
    broken = 0
    random = Random(35)
    model.turns += [f"answer {number}" for number in range(runs)]
    for number in range(runs):
        result = await page.run(f"question {number}", cuts=[random.randint(1, 1_000 + 150 * number)])
        assert (result["error"], kinds_of(result)[-1]) == (None, "RUN_FINISHED")
        broken += result["requests"] > 1
    assert broken > runs / 2
    assert texts_of(result) == [
        said
        for number in range(runs)
        for said in (("user", f"question {number}"), ("assistant", f"answer {number}"))
    ]


async def run_example(durable: Path, name: str, site: str, key: str) -> str:
    """Run a script of the documentation; return what it prints."""
    process = await asyncio.create_subprocess_exec(
        NODE or "node",
        durable.with_name(name),
        env={**os.environ, "SITE": site, "KEY": key},
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    return printed.decode()


async def test_the_examples_of_the_documentation_run(
    durable: Path, site: str, key: str, served: Served, model: ScriptedModel, tools: list[Any]
) -> None:
    served(LlmAgent(name="help_desk", model=model, tools=tools))
    model.turns.append("It is on its way.")
    assert await run_example(durable, "ask.mjs", site, key) == "It is on its way.\n"
    model.turns += [call("refund", euros=5), "Done."]
    assert await run_example(durable, "refund.mjs", site, key) == "Refund: 5 { euros: 5 }\nDone.\n"
    assert "5 refunded" in str(model.requests[-1].contents)


async def test_the_steps_of_a_workflow_and_its_question(page: Page, served: Served) -> None:
    def check(node_input: str) -> str:
        return f"{node_input} checked"

    def ask(node_input: str) -> RequestInput:
        return RequestInput(message="Which size?", response_schema={"type": "string"})

    served(Workflow(name=APP, edges=[("START", check, ask)]))
    asked = await page.run("Shoes")
    assert asked["error"] is None
    [interrupt] = asked["interrupts"]
    assert (interrupt["reason"], interrupt["message"]) == ("input_required", "Which size?")
    steps = [event["stepName"] for event in asked["events"] if event["type"] == "STEP_STARTED"]
    assert steps[0] == f"{APP}@1" and f"{APP}@1/check@1" in steps
    entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": "42"}
    ended = await page.run(resume=[entry])
    assert (ended["error"], ended["interrupts"]) == (None, [])
    assert texts_of(ended) == [("user", "Shoes"), ("assistant", "42")]
    finished = [event["stepName"] for event in ended["events"] if event["type"] == "STEP_FINISHED"]
    assert finished[-2:] == [f"{APP}@1/ask@1", f"{APP}@1"]
