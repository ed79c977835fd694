"""`make bench`: run all benchmarks. `python -m tests.benchmarks appends turns` runs the named ones.

`partitions` runs only when it is named: it needs many events, and leaves some sessions without theirs.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable

import uvloop

from tests.benchmarks.servers import bench_site

NAMES = (
    "appends",
    "turns",
    "pauses",
    "nodes",
    "traces",
    "requests",
    "cancel",
    "chats",
    "budget",
    "run_streams",
    "log_pages",
    "jobs",
    "storage",
    "memory",
    "cold",
    "shapes",
    "long_session",
    "backlog",
    "alone",
    "admin_pages",
    "search_pages",
    "old_sessions",
    "searches",
    "packs",
)


def main(names: tuple[str, ...]) -> None:
    """Run the benchmarks and print their lines."""
    with bench_site():
        from importlib import import_module

        from adk_site.garbage_collection import exclude_permanent_objects

        exclude_permanent_objects()  # as web processes do
        for name in names:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_measure(import_module(f"tests.benchmarks.{name}").measure))


async def _measure(measure: Callable[[], Awaitable[list[str]]]) -> None:
    from sessions_app.shutdown import shut_down

    for line in await measure():
        print(line, flush=True)
    await shut_down()


main(tuple(sys.argv[1:]) or NAMES)
