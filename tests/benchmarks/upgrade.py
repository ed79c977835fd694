"""An upgrade without downtime: people talk while an old and a new version run side by side, and back again.

    .venv/bin/python -m tests.benchmarks.upgrade OLD

OLD is a commit. The version of this tree follows and goes again, with the migrations between the two in both
directions. Prints the answers and the longest wait of each phase; fails if an answer is missing or there twice.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import psycopg
from websockets.exceptions import WebSocketException

from adk_site.embedded.paths import CHECKOUT
from adk_site.embedded.postgres import postgres_url
from tests.browser.model import Model
from tests.model_server import Turn
from tests.stack.fleet import Fleet
from tests.stack.websocket_tab import Tab

PEOPLE = 20
PHASE_SECONDS = 20.0
OLD, NEW = ("web1", "worker1", "jobs1"), ("web2", "worker2", "jobs2")
SETTINGS = "tests.stack.settings"
ANSWERS = """
    SELECT count(*) FILTER (WHERE answers <> 1), count(*) FROM (
        SELECT i.id, count(e.id) FILTER (
            WHERE e.body->>'author' = 'help_desk' AND e.body->>'partial' IS NULL
            AND e.body->'content'->'parts'->0->>'text' = 'An answer.') AS answers
        FROM sessions_app_invocation i LEFT JOIN sessions_app_event e
            ON e.session_id = i.session_id AND e.body->>'invocationId' = i.invocation_id
        GROUP BY i.id) counted
"""


@dataclass
class People:
    """People who ask again and again, and what they saw in each phase."""

    fleet: Fleet
    sites: list[str] = field(default_factory=lambda: ["web1"])
    phase: str = ""
    waits: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    reconnects: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    has_ended: bool = False

    async def talk(self, cookies: str) -> None:
        tab = Tab(str(uuid4()), cookies)
        await self._connect(tab)
        number = 0
        while not self.has_ended:
            number += 1
            began = time.monotonic()
            await self._ask(tab, number)
            self.waits[self.phase].append(time.monotonic() - began)
            await asyncio.sleep(random.random())
        await tab.close()

    async def _ask(self, tab: Tab, number: int) -> None:
        while True:
            try:
                await tab.send(type="message", id=f"m{number}", text=f"Question {number}")
                await tab.read_until(lambda tab: tab.texts.count("An answer.") >= number, seconds=120)
            except (OSError, WebSocketException):
                self.reconnects[self.phase] += 1
                await self._connect(tab)
            else:
                return

    async def _connect(self, tab: Tab) -> None:
        while True:
            try:
                await tab.open(self.fleet.url(random.choice(self.sites)))
            except (OSError, WebSocketException):
                await asyncio.sleep(0.2)
            else:
                return

    async def during(self, phase: str, *sites: str) -> None:
        """Let people connect to these web processes for a while."""
        self.phase = phase
        self.sites = list(sites)
        await asyncio.sleep(PHASE_SECONDS)


async def upgrade_and_go_back(fleet: Fleet, old: Path) -> People:
    """Replace the old version by the new one and the new one by the old one, while people talk."""
    people = People(fleet)
    _, cookies = fleet.new_chat("web1")
    talking = [asyncio.create_task(people.talk(cookies)) for _ in range(PEOPLE)]
    await people.during("old version", "web1")
    await run(fleet, CHECKOUT, "migrate")
    await people.during("old version, new tables", "web1")
    await start(fleet, CHECKOUT, *NEW)
    await people.during("side by side", "web1", "web2")
    people.sites = ["web2"]
    await stop(fleet, *OLD)
    await people.during("new version", "web2")
    await start(fleet, old, *OLD)
    await people.during("side by side again", "web1", "web2")
    people.sites = ["web1"]
    await stop(fleet, *NEW)
    await run(fleet, CHECKOUT, "python", "manage.py", "migrate", "sessions_app", newest_migration(old))
    await people.during("old version, old tables", "web1")
    people.has_ended = True
    await asyncio.gather(*talking)
    return people


async def run(fleet: Fleet, checkout: Path, *command: str) -> None:
    fleet.checkout = checkout
    await asyncio.to_thread(fleet.run, *command)


async def start(fleet: Fleet, checkout: Path, *names: str) -> None:
    fleet.checkout = checkout
    await asyncio.to_thread(fleet.start, *names)


async def stop(fleet: Fleet, *names: str) -> None:
    for name in names:
        assert await asyncio.to_thread(fleet.stop, name) == 0, fleet.log(name)


def newest_migration(checkout: Path) -> str:
    return max(path.stem for path in (checkout / "sessions_app" / "migrations").glob("[0-9]*.py"))


def export(commit: str, target: Path) -> None:
    """Write the files of a commit to a directory."""
    with subprocess.Popen(["git", "archive", commit], cwd=CHECKOUT, stdout=subprocess.PIPE) as archive:
        subprocess.run(["tar", "-x"], cwd=target, stdin=archive.stdout, check=True)


def main(commit: str) -> None:
    """Print what people saw."""
    with ExitStack() as stack:
        old = Path(stack.enter_context(TemporaryDirectory()))
        data = Path(stack.enter_context(TemporaryDirectory()))
        # For the hash of the password of the person.
        os.environ.update(ADK_DEV="1", ADK_DATA_DIR=str(data), DJANGO_SETTINGS_MODULE=SETTINGS)
        export(commit, old)
        model = stack.enter_context(Model())
        model.play(rules={"Question": Turn(text=["An ", "answer."], pause=0.2)})
        environment = {**model.environment, "DJANGO_SETTINGS_MODULE": SETTINGS}
        fleet = stack.enter_context(Fleet(data, environment, checkout=old))
        fleet.start(*OLD, "beat")
        people = asyncio.run(upgrade_and_go_back(fleet, old))
        for phase, waits in people.waits.items():
            waits.sort()
            print(
                f"{phase}: {len(waits)} answers, half within {waits[len(waits) // 2]:.1f} s, all within "
                f"{waits[-1]:.1f} s; {people.reconnects[phase]} connections closed"
            )
        with psycopg.connect(postgres_url(data)) as connection:
            row = connection.execute(ANSWERS).fetchone()
        assert row is not None
        wrong, all_of_them = row
        print(f"{wrong} of {all_of_them} messages have no answer or several")
        if wrong:
            sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
