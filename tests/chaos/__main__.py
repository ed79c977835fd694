"""`make chaos`: a long run. `python -m tests.chaos --seed 7` repeats one."""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys

from tests.benchmarks.servers import bench_site


def main() -> int:
    """Run, print, and fail if a rule was broken."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=random.randrange(10_000))
    arguments.add_argument("--people", type=int, default=200)
    arguments.add_argument("--messages", type=int, default=5)
    arguments.add_argument("--kills", type=int, default=40)
    arguments.add_argument("--pause", type=float, default=3.0, help="mean seconds between two kills")
    given = arguments.parse_args()
    print(f"chaos, seed {given.seed} begins", flush=True)
    try:
        return _run(given)
    except BaseException:
        print(f"chaos, seed {given.seed} broke off:", file=sys.stderr, flush=True)
        raise


def _run(given: argparse.Namespace) -> int:
    os.environ["ADK_POSTGRES_FSYNC"] = "off"  # processes die here, not machines
    with bench_site("tests.chaos.settings"):
        from django.conf import settings

        from tests.chaos.processes import Site
        from tests.chaos.run import run

        site = Site(settings.DATA_DIR, settings.DATABASE_URL, settings.REDIS_URL)
        try:
            site.start()
            report = asyncio.run(run(site, **vars(given)))
        finally:
            site.stop()
        print(report)
        return 1 if report.verdict.broken else 0


sys.exit(main())
