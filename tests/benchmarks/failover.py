"""A failover of PostgreSQL: its server is killed while people talk, and the replica is promoted.

    .venv/bin/python -m tests.benchmarks.failover

The processes know both servers by one `DATABASE_URL`, and the replica is synchronous. Where libfaketime is installed,
their clocks are ten minutes apart. Prints the answers and the waits before and after the failover; fails if an answer
is missing or there twice.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from adk_site.embedded.postgres import Postgres, postgres_url
from adk_site.embedded.server import kill_servers
from tests.benchmarks.upgrade import ANSWERS, PHASE_SECONDS, SETTINGS, People
from tests.browser.model import Model
from tests.model_server import Turn
from tests.stack.fleet import Fleet
from tests.stack.replica import replica_of, url_of_both

PEOPLE = 200
SECONDS_UNTIL_PROMOTION = 5.0
PAUSE = 0.4
"""Seconds of the model for each of the two pieces of an answer."""
INTERRUPTED = """
    SELECT count(*), percentile_disc(0.5) WITHIN GROUP (ORDER BY finished_at - %(at)s), max(finished_at - %(at)s)
    FROM sessions_app_invocation WHERE created_at < %(at)s AND finished_at > %(at)s
"""
"""Invocations that began before the promotion and ended after it, with their times from the promotion on."""


def clock(offset: str) -> dict[str, str]:
    """Return the variables by which the clock of a process is wrong, empty without libfaketime (Debian: faketime)."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    if library is None:
        return {}
    # The time since a start stays true: that library breaks `time.sleep` otherwise.
    return {"LD_PRELOAD": str(library), "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


async def fail_over(fleet: Fleet, replica: Postgres) -> tuple[People, datetime]:
    """Kill the primary while people talk, and promote the replica; return also the time of the promotion."""
    people = People(fleet)
    _, cookies = fleet.new_chat("web1")
    talking = [asyncio.create_task(people.talk(cookies)) for _ in range(PEOPLE)]
    await people.during("before", "web1", "web2")
    people.phase = "failover"
    kill_servers({"postgres"}, f"-D {fleet.data / 'postgres'} ")
    await asyncio.sleep(SECONDS_UNTIL_PROMOTION)
    with psycopg.connect(postgres_url(replica.data), autocommit=True) as connection:
        row = connection.execute("SELECT pg_promote(), clock_timestamp()").fetchone()
        assert row is not None
    await asyncio.sleep(PHASE_SECONDS)
    await people.during("after", "web1", "web2")
    people.has_ended = True
    await asyncio.gather(*talking)
    return people, row[1]


def main() -> None:
    """Print what people saw."""
    with ExitStack() as stack:
        data = Path(stack.enter_context(TemporaryDirectory()))
        # For the hash of the password of the person.
        os.environ.update(ADK_DEV="1", ADK_DATA_DIR=str(data), DJANGO_SETTINGS_MODULE=SETTINGS)
        model = stack.enter_context(Model())
        model.play(rules={"Question": Turn(text=["An ", "answer."], pause=PAUSE)})
        environment = {**model.environment, "DJANGO_SETTINGS_MODULE": SETTINGS}
        fleet = stack.enter_context(Fleet(data, environment))
        replica = stack.enter_context(replica_of(data, is_synchronous=True))
        fleet.environment["DATABASE_URL"] = url_of_both(data, replica.data)
        fleet.start("web1", "beat")
        fleet.variables = {"web": clock("-10m"), "worker": clock("+10m"), "jobs": clock("-10m")}
        fleet.start("web2", "worker1", "jobs1")
        people, promoted_at = asyncio.run(fail_over(fleet, replica))
        for phase, waits in people.waits.items():
            waits.sort()
            print(
                f"{phase}: {len(waits)} answers, half within {waits[len(waits) // 2]:.1f} s, all within "
                f"{waits[-1]:.1f} s; {people.reconnects[phase]} connections closed"
            )
        with psycopg.connect(postgres_url(replica.data)) as connection:
            row = connection.execute(ANSWERS).fetchone()
            interrupted = connection.execute(INTERRUPTED, {"at": promoted_at}).fetchone()
        assert row is not None and interrupted is not None
        print(
            "{} answers were interrupted; after the promotion half ended within {}, all within {}".format(
                *interrupted
            )
        )
        wrong, all_of_them = row
        print(f"{wrong} of {all_of_them} messages have no answer or several")
        if wrong:
            sys.exit(1)


if __name__ == "__main__":
    main()
