"""Contract: a socket on which nothing happens holds little memory in its process."""

from __future__ import annotations

import asyncio
import gc
import threading
from pathlib import Path
from types import CoroutineType

import pytest
from django.contrib.auth.models import User
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import AsyncClient

from runtime.agents import LlmAgent
from sessions_app import use_cases
from tests.fakes import ScriptedModel
from tests.integration.socket_tab import SiteTab
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")


def wrappers_of_loop() -> int:
    """Return the number of Django's connection objects that were made in the thread of the event loop."""
    gc.collect()
    # `isinstance` would evaluate the lazy objects that other tests have left, one of which raises an error then.
    wrappers = [each for each in gc.get_objects() if issubclass(type(each), BaseDatabaseWrapper)]
    makers = [vars(wrapper)["_thread_ident"] for wrapper in wrappers]
    return makers.count(threading.get_ident())


def modules_of_frames(task: asyncio.Task[None]) -> set[str]:
    """Return the names of the modules with a coroutine that the task waits in."""
    names: set[str] = set()
    waiting: object = task.get_coro()
    while isinstance(waiting, CoroutineType):
        names.add(Path(waiting.cr_code.co_filename).stem)
        waiting = waiting.cr_await
    return names


async def test_an_idle_socket_holds_one_task_few_frames_and_no_connection_object(
    browser: AsyncClient, person: User, served: Served
) -> None:
    served(LlmAgent(name="echo", model=ScriptedModel(rule=lambda request: "hi")))
    session = await use_cases.create_session(person, "echo")
    first, second = SiteTab(browser, session), SiteTab(browser, session)
    await first.open()  # starts the process's hub and its tasks
    tasks, wrappers = asyncio.all_tasks(), wrappers_of_loop()
    await second.open()
    await second.send(type="ping")
    assert (await second.receive())["type"] == "pong"
    assert asyncio.all_tasks() - tasks == {second.socket.future}
    assert wrappers_of_loop() == wrappers
    modules = modules_of_frames(second.socket.future)
    assert "consumers" in modules
    assert not modules & {"daphne", "origin"}
    await first.leave()
    await second.leave()
