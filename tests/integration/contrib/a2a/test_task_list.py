"""`tasks/list`: the tasks of the key's person with the agent, in pages, by the filters of the protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from a2a.client import Client
from a2a.types import GetTaskRequest, ListTasksRequest, ListTasksResponse, Task, TaskState
from a2a.utils.errors import InvalidParamsError, InvalidRequestError
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from runtime import types
from runtime.tools import FunctionTool, ToolContext
from sessions_app.models import Invocation, Pack
from sessions_app.process.threads import in_thread
from tests.fakes import ScriptedModel, call
from tests.integration.contrib.a2a.conftest import program_of
from tests.integration.contrib.a2a.talk import message, say, text_of
from tests.integration.session_helpers import pack


def refund(euros: int) -> str:
    """Refund an amount."""
    return f"{euros} refunded"


async def write_report(tool_context: ToolContext) -> str:
    """Write a report."""
    await tool_context.save_artifact(
        "report.txt", types.Part.from_bytes(data=b"12345", mime_type="text/plain")
    )
    return "written"


@pytest.fixture
def tools() -> list[Any]:
    return [FunctionTool(refund, require_confirmation=True), FunctionTool(write_report)]


@pytest.fixture
async def tasks(program: Client, model: ScriptedModel) -> list[Task]:
    """Three tasks: two of one context, the second of which was confirmed last, and one that waits."""
    model.turns += ["One.", call("refund", euros=5), call("refund", euros=6), "Two."]
    first = await say(program, "a")
    second = await say(program, message("b", context_id=first.context_id))
    third = await say(program, "c")
    return [first, await say(program, message("yes", task_id=second.id)), third]


async def ids(program: Client, **wish: Any) -> list[str]:
    listed = await program.list_tasks(ListTasksRequest(**wish))
    return [task.id for task in listed.tasks]


async def test_tasks_come_in_pages_the_last_changed_first(program: Client, tasks: list[Task]) -> None:
    first, second, third = tasks
    page = await program.list_tasks(ListTasksRequest(page_size=2))
    assert [task.id for task in page.tasks] == [second.id, third.id]
    assert (page.page_size, page.total_size) == (2, 3)
    rest = await program.list_tasks(ListTasksRequest(page_size=2, page_token=page.next_page_token))
    assert ([task.id for task in rest.tasks], rest.next_page_token) == ([first.id], "")
    assert await Invocation.objects.acount() == 4  # An answer is part of the task that it continues.


async def test_tasks_are_filtered_by_context_state_and_time(program: Client, tasks: list[Task]) -> None:
    first, second, third = tasks
    assert await ids(program, context_id=first.context_id) == [second.id, first.id]
    assert await ids(program, context_id="x") == []
    assert await ids(program, status=TaskState.TASK_STATE_INPUT_REQUIRED) == [third.id]
    assert await ids(program, status_timestamp_after=second.status.timestamp) == [second.id]


async def test_artifacts_come_when_they_are_asked_for_and_as_much_history(
    program: Client, tasks: list[Task]
) -> None:
    async def listed(**wish: Any) -> ListTasksResponse:
        return await program.list_tasks(ListTasksRequest(context_id=tasks[0].context_id, **wish))

    bare = (await listed()).tasks[1]
    assert (len(bare.artifacts), [part.text for part in bare.history[0].parts]) == (0, ["a"])
    full = (await listed(include_artifacts=True, history_length=0)).tasks[1]
    assert (text_of(full), len(full.history)) == ("One.", 0)


async def test_a_wrong_size_token_or_key_is_refused(program: Client, person: User, site: str) -> None:
    for wish in ({"page_size": 101}, {"page_size": -1}, {"history_length": -1}, {"page_token": "x"}):
        with pytest.raises(InvalidParamsError):
            await ids(program, **wish)
    for token in (
        "eyJ0cyI6MSwiaWQiOiJcdTAwMDAifQ",
        "eyJ0cyI6OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OSwiaWQiOiJhIn0",
    ):
        with pytest.raises(InvalidParamsError, match="pageToken"):
            await ids(program, page_token=token)
    async with program_of(person, site, "run") as runner:
        with pytest.raises(InvalidRequestError, match="scope"):
            await ids(runner)


async def test_tasks_of_others_and_of_other_agents_are_not_listed(tasks: list[Task], site: str) -> None:
    eve = await sync_to_async(User.objects.create_user)("eve")
    async with program_of(eve, site) as other:
        assert await ids(other) == []
        assert await ids(other, context_id=tasks[0].context_id) == []


async def test_tasks_of_packed_sessions_come_back_and_a_lost_pack_hides_no_others(
    program: Client, model: ScriptedModel
) -> None:
    model.turns += ["One.", "Two."]
    lost, task = await say(program, "a"), await say(program, "b")
    await in_thread(pack, task.context_id)
    assert text_of(await program.get_task(GetTaskRequest(id=task.id))) == "Two."
    await in_thread(pack, task.context_id)
    await in_thread(pack, lost.context_id)
    Path((await Pack.objects.aget(pk=UUID(lost.context_id))).file.path).unlink()
    listed = await program.list_tasks(ListTasksRequest(include_artifacts=True))
    assert [(found.id, text_of(found)) for found in listed.tasks] == [(task.id, "Two.")]


async def test_the_files_of_all_tasks_on_a_page_share_the_limit(
    program: Client, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessions_app.contrib.a2a.handler.MAX_BYTES", 8)
    model.turns += [call("write_report"), "One.", call("write_report"), "Two."]
    for text in ("a", "b"):
        await say(program, text)
    newest, oldest = (await program.list_tasks(ListTasksRequest(include_artifacts=True))).tasks
    raws = [[part.raw for artifact in task.artifacts for part in artifact.parts] for task in (newest, oldest)]
    assert (b"12345" in raws[0], b"12345" in raws[1]) == (True, False)
    assert "too large" in text_of(oldest)
