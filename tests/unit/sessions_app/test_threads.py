"""Asyncio code that threads ask for runs where the process's relay is."""

from __future__ import annotations

import asyncio

from sessions_app.db import threads


async def running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def test_a_thread_that_a_loop_waits_for_has_its_coroutines_run_there() -> None:
    assert await threads.in_thread(lambda: threads.run(running_loop())) is asyncio.get_running_loop()


def test_a_thread_of_no_loop_has_them_run_on_the_background_loop() -> None:
    assert threads.run(running_loop()) is threads.background_loop()
