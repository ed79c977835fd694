"""Tasks of MCP: handles of work that goes on without its client, by the extension of protocol 2026-07-28."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, MISSING_REQUIRED_CLIENT_CAPABILITY, ElicitResult

from runtime.agents import LlmAgent
from runtime.tools import FunctionTool
from sessions_app.agent_apps import registry
from sessions_app.invocations.worker import worker
from sessions_app.jobs import confirm, job_tool
from sessions_app.models import Invocation, ToolJob
from tests.fakes import ScriptedModel, call
from tests.integration.contrib.a2a.test_jobs_of_tasks import run_job, run_response
from tests.integration.contrib.a2a.test_task_access import UNKNOWN, Waits
from tests.integration.contrib.mcp.clients import HANDLE_ONLY, Task, Tasks, send, texts_of, until
from tests.integration.contrib.mcp.conftest import client_of
from tests.integration.contrib.mcp.test_tools import CONFIRMED, answering

HELLO = {"message": "Hello"}


@job_tool()
def count_all() -> dict[str, Any]:
    """Count everything."""
    return {"counted": confirm("Count all?")}


@pytest.fixture
def waiting(site: str) -> Waits:
    root = registry.apps()["desk"].root_agent
    assert isinstance(root, LlmAgent)
    root.model = Waits(model="waits", begun=asyncio.Event(), released=asyncio.Event())
    return root.model


async def begun(client: Any, **options: Any) -> Task:
    task = await client.session.call_tool("desk", HELLO, allow_claimed=True, **options)
    assert isinstance(task, Task)
    return task


async def test_a_call_is_a_task_and_its_result_is_fetched_by_its_handle(
    person: User, site: str, waiting: Waits
) -> None:
    async with client_of(person, site, extensions=[Tasks()]) as client:
        key = {"idempotencyKey": "k"}
        task = await begun(client, meta=key)
        assert (await begun(client, meta=key)).task_id == task.task_id
        assert task.status == "working"
        await waiting.begun.wait()
    waiting.released.set()
    async with client_of(person, site, "read", extensions=[HANDLE_ONLY]) as later:
        got = await until(later.session, task.task_id, "completed")
        assert got["result"]["content"][0]["text"] == "Good day"
        assert await send(later.session, "tasks/get", task.task_id) == got
    assert await Invocation.objects.acount() == 1


@pytest.mark.parametrize("tools", [CONFIRMED])
async def test_an_approval_is_input_required(person: User, site: str, model: ScriptedModel) -> None:
    model.turns += [call("refund", euros=5), "Done."]
    asks = answering("accept", {}, [])
    async with client_of(person, site, extensions=[Tasks()], elicitation_callback=asks) as client:
        assert texts_of(await client.call_tool("desk", HELLO)) == ["Done."]
    assert "5 refunded" in str(model.requests[-1].contents[-1])


@pytest.mark.parametrize("tools", [CONFIRMED])
async def test_only_answers_to_open_questions_count(person: User, site: str, model: ScriptedModel) -> None:
    model.turns += [call("refund", euros=5), "Done."]
    asks = answering("accept", {}, [])
    no = ElicitResult(action="decline")
    closed = ElicitResult(action="cancel")
    async with client_of(person, site, extensions=[Tasks()], elicitation_callback=asks) as client:
        task = await begun(client)
        asked = await until(client.session, task.task_id, "input_required")
        [key] = asked["inputRequests"]
        for responses in ({"other": no}, {key: closed}, {}):
            await send(client.session, "tasks/update", task.task_id, input_responses=responses)
            assert (await send(client.session, "tasks/get", task.task_id))["status"] == "input_required"
        await send(client.session, "tasks/cancel", task.task_id)  # Nothing runs: it stays as it is.
        await send(client.session, "tasks/update", task.task_id, input_responses={key: no})
        await until(client.session, task.task_id, "completed")
        yes = ElicitResult(action="accept", content={"answer": True})
        await send(client.session, "tasks/update", task.task_id, input_responses={key: yes})
    assert "rejected" in str(model.requests[-1].contents[-1])
    assert len(model.requests) == 2


@pytest.mark.parametrize("tools", [[count_all]])
async def test_a_job_and_its_question_are_part_of_the_task(
    person: User, site: str, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    model.turns += [call("count_all"), "It runs.", "All counted."]
    asks = answering("accept", {}, [])
    async with client_of(person, site, extensions=[Tasks()], elicitation_callback=asks) as client:
        task = await begun(client)
        await worker().wait_until_idle()
        assert (await send(client.session, "tasks/get", task.task_id))["status"] == "working"
        await run_job()
        [[key, form]] = (await send(client.session, "tasks/get", task.task_id))["inputRequests"].items()
        assert form["params"]["message"] == "Count all? (yes or no)"
        assert form["params"]["requestedSchema"]["properties"] == {"answer": {"type": "boolean"}}
        yes = ElicitResult(action="accept", content={"answer": True})
        await send(client.session, "tasks/update", task.task_id, input_responses={key: yes})
        assert (await ToolJob.objects.aget()).status == "queued"
        await run_job()
        await run_response()
        got = await send(client.session, "tasks/get", task.task_id)
    assert "All counted." in str(got["result"]["content"])


@pytest.mark.parametrize("tools", [[FunctionTool(print, require_confirmation=True)]])
async def test_a_client_without_forms_is_told_where_to_answer(
    person: User, site: str, model: ScriptedModel
) -> None:
    model.turns += [call("print")]
    async with client_of(person, site, extensions=[Tasks()]) as client:
        task = await begun(client)
        await worker().wait_until_idle()
        got = await send(client.session, "tasks/get", task.task_id)
    assert got["status"] == "working"
    assert got["statusMessage"].startswith(f"The agent waits for an answer, to be given at {site}/chat/")


async def test_a_task_is_cancelled(person: User, site: str, waiting: Waits) -> None:
    async with client_of(person, site, extensions=[Tasks()]) as client:
        task = await begun(client)
        await waiting.begun.wait()
        await send(client.session, "tasks/cancel", task.task_id)
        await until(client.session, task.task_id, "cancelled")
        await send(client.session, "tasks/cancel", task.task_id)
        got = await send(client.session, "tasks/get", task.task_id)
    assert got["status"] == "cancelled"
    assert (await Invocation.objects.aget()).status == "cancelled"


async def test_tasks_of_others_are_unknown(person: User, site: str, model: ScriptedModel) -> None:
    model.turns.append("Secret.")
    eve = await sync_to_async(User.objects.create_user)("eve")
    async with client_of(person, site, extensions=[Tasks()]) as client:
        task = await begun(client)
        await until(client.session, task.task_id, "completed")
    words = set()
    async with client_of(eve, site, extensions=[HANDLE_ONLY]) as other:
        for task_id in (task.task_id, UNKNOWN, "\0", "\u202e", "x" * 10_000):
            for method in ("tasks/get", "tasks/cancel", "tasks/update"):
                params: dict[str, Any] = {"input_responses": {}} if method == "tasks/update" else {}
                with pytest.raises(MCPError) as refused:
                    await send(other.session, method, task_id, **params)
                words.add((refused.value.code, str(refused.value)))
        state = await other.session.call_tool("desk", HELLO, request_state=task.task_id, allow_claimed=True)
        assert "Secret" not in str(state)
    assert words == {(INVALID_PARAMS, "There is no such task here.")}
    assert await Invocation.objects.acount() == 1


async def test_the_extension_must_be_declared(person: User, site: str) -> None:
    async with client_of(person, site) as client:
        for method in ("tasks/get", "tasks/cancel"):
            with pytest.raises(MCPError) as refused:
                await send(client.session, method, UNKNOWN)
            assert refused.value.code == MISSING_REQUIRED_CLIENT_CAPABILITY
