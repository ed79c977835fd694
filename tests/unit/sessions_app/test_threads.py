"""Contract: `threads.run` runs a coroutine on the loop that has the process's relay."""

from __future__ import annotations

import asyncio

from sessions_app.process import threads


async def running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def test_a_thread_started_by_a_loop_runs_coroutines_on_that_loop() -> None:
    assert await threads.in_thread(lambda: threads.run(running_loop())) is asyncio.get_running_loop()


def test_any_other_thread_runs_coroutines_on_the_background_loop() -> None:
    assert threads.run(running_loop()) is threads.background_loop()
