"""`make bench`: runs the benchmarks, or those named: `python -m tests.benchmarks appends turns`."""

from __future__ import annotations

import asyncio
import sys

import uvloop

from tests.benchmarks.servers import bench_site

NAMES = ("appends", "turns", "requests", "cancel", "streaming", "jobs", "growth", "memory")


def main(names: tuple[str, ...]) -> None:
    """Run and print."""
    with bench_site():
        from importlib import import_module

        from adk_site.garbage_collection import collect_rarely

        collect_rarely()  # as web processes do
        for name in names:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_measure(import_module(f"tests.benchmarks.{name}")))


async def _measure(module: object) -> None:
    from sessions_app.shutdown import shut_down

    for line in await module.measure():  # type: ignore[attr-defined]
        print(line, flush=True)
    await shut_down()


main(tuple(sys.argv[1:]) or NAMES)
