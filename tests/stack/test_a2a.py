"""Contract: a task of A2A is of no process: its text streams from Daphne, and another process cancels it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from a2a.client import ClientConfig, create_client
from a2a.types import CancelTaskRequest, SendMessageRequest, StreamResponse, SubscribeToTaskRequest, Task
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from tests.benchmarks.daphne import forked_daphne
from tests.integration.api.conftest import make_key
from tests.integration.contrib.a2a.conftest import http_client
from tests.integration.contrib.a2a.talk import apply, apply_all, message, state_of, text_of
from tests.stack.database import server_variables

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("transactional_db")]
SETTINGS = "tests.stack.a2a_site.settings"


async def read(stream: AsyncIterator[StreamResponse], words: int) -> Task:
    """Read a stream until so many words have come."""
    task = Task()
    while len(text_of(task).split()) < words:
        apply(task, await anext(stream))
    return task


async def test_a_task_is_followed_and_cancelled_through_another_process() -> None:
    user = await sync_to_async(User.objects.create_user)("ada")
    key = await sync_to_async(make_key)(user)
    variables = server_variables()
    with (
        forked_daphne(SETTINGS, variables) as (one, _),
        forked_daphne(SETTINGS, variables) as (two, _),
    ):
        async with http_client(key) as http:
            config = ClientConfig(httpx_client=http)
            first, second = [
                await create_client(f"http://127.0.0.1:{port}/a2a/counter", config) for port in (one, two)
            ]
            stream = first.send_message(SendMessageRequest(message=message("Count")))
            begun = await read(stream, 3)
            followed = await read(second.subscribe(SubscribeToTaskRequest(id=begun.id)), 6)
            cancelled = await second.cancel_task(CancelTaskRequest(id=begun.id))
            ended = await apply_all(stream)
    assert text_of(followed).startswith("0 1 2 3 4 5")
    assert state_of(cancelled) == state_of(ended) == "canceled"
    assert text_of(cancelled).startswith("0 1 2")
