"""Threads of synchronous tools, separate from asyncio's default threads: a slow tool holds up other tools only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

DEFAULT_TOOL_THREADS = 32

_NAME = "adk tool"
_executor = ThreadPoolExecutor(DEFAULT_TOOL_THREADS, _NAME)  # Starts no thread before the first call.


def set_tool_threads(number: int) -> None:
    """Set the number of synchronous tools that this process runs at once; more wait. Running tools are not affected."""
    global _executor
    previous, _executor = _executor, ThreadPoolExecutor(number, _NAME)
    previous.shutdown(wait=False)


async def run_in_tool_thread(function: Callable[..., Any], **arguments: Any) -> Any:
    """Call the function in a tool thread, with the caller's context variables."""
    call = partial(copy_context().run, function, **arguments)
    return await asyncio.get_running_loop().run_in_executor(_executor, call)
