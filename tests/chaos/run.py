"""One run: people talk, processes die, then everything is checked. A seed makes the choices repeatable."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from sessions_app.models import Event, Invocation, Session, ToolJob
from tests.chaos.people import Person
from tests.chaos.processes import Site
from tests.chaos.verdict import Verdict, is_quiet, judge

QUIET_SECONDS = 120


@dataclass(frozen=True)
class Report:
    """What happened."""

    seed: int
    kills: dict[str, int]
    counts: dict[str, int]
    verdict: Verdict

    def __str__(self) -> str:
        kills = ", ".join(f"{name} {count}" for name, count in sorted(self.kills.items()))
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        checked = "\n".join(f"  checked: {count} {what}" for what, count in self.verdict.checked.items())
        broken = "\n".join(f"  BROKEN {rule}" for rule in self.verdict.broken)
        return (
            f"chaos, seed {self.seed}: {sum(self.kills.values())} kills ({kills}); {counts}\n"
            f"{checked}\n{broken or '  nothing lost, nothing doubled'}"
        )


async def run(site: Site, *, seed: int, people: int, messages: int, kills: int, pause: float) -> Report:
    """Let the people talk while processes are killed, wait for quiet, and judge."""
    chance = random.Random(seed)
    talkers = await sync_to_async(_make_people)(people, list(site.ports.values()), seed)
    killer = asyncio.create_task(_kill(site, chance, kills, pause))
    await asyncio.gather(*(person.talk(messages) for person in talkers))
    await killer
    for name in ("web1", "web2"):
        await asyncio.to_thread(site.wait_for, name)
    await _quiet()
    for person in talkers:
        await person.read_to((await Session.objects.aget(pk=person.session_id)).last_seq)
    verdict = await sync_to_async(judge)(talkers, messages)
    counts = {
        "messages": await Invocation.objects.exclude(client_id__startswith="job:").acount(),
        "events": await Event.objects.acount(),
        "jobs": await ToolJob.objects.acount(),
        "resumed": await Invocation.objects.filter(attempts__gt=1).acount(),
        "failed with a reason": await Invocation.objects.filter(status="failed").acount(),
        "reconnects": sum(person.reconnects for person in talkers),
    }
    return Report(seed, site.kills, counts, verdict)


async def _kill(site: Site, chance: random.Random, kills: int, pause: float) -> None:
    for _ in range(kills):
        await asyncio.sleep(pause * (0.5 + chance.random()))
        await asyncio.to_thread(site.kill_one, chance)


async def _quiet() -> None:
    deadline = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < deadline:
        if await sync_to_async(_is_quiet)():
            return
        await asyncio.sleep(0.5)


def _is_quiet() -> bool:
    close_old_connections()
    return is_quiet()


def _make_people(count: int, ports: list[int], seed: int) -> list[Person]:
    """People who are signed in, each with a session of the obedient app."""
    from tests.benchmarks.doors import make_doors

    doors = make_doors(count, "chaos")
    people = []
    for number, door in enumerate(doors):
        session_id = door.path.split("/")[3]
        person = Person(
            number, Session.objects.get(pk=session_id).pk, door.cookie, ports, random.Random(seed + number)
        )
        people.append(person)
    return people
