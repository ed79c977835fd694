"""One run: people talk, processes die, then everything is checked. A seed makes the choices repeatable."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from sessions_app.models import Event, Invocation, ScheduledTask, Session, ToolJob
from tests.benchmarks.doors import make_doors
from tests.chaos.browser import Browser
from tests.chaos.conversation import Conversation
from tests.chaos.evidence import told
from tests.chaos.people import MESSAGES_A_SECOND, VERBS, Person
from tests.chaos.processes import TARGETS, WEB, Site
from tests.chaos.verdict import Verdict, is_quiet, judge

APPS = ("chaos", "chaos_gemini")
USERS_OF_AN_APP = 2
SECONDS_TO_RECOVER = 90.0
SECONDS_A_PERSON = 1.0
"""So much longer than to recover it may take until all is done for so many people."""


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
        head = f"chaos, seed {self.seed}: {sum(self.kills.values())} kills ({kills}); {counts}"
        verdict = broken or "  nothing lost, nothing doubled"
        return "\n".join([head, checked, verdict, *self.verdict.evidence])


async def run(site: Site, *, seed: int, people: int, messages: int, kills: int, pause: float) -> Report:
    """Let the people talk for as long as processes are killed, wait for quiet, and judge."""
    chance = random.Random(seed)
    patience = SECONDS_TO_RECOVER + people * SECONDS_A_PERSON
    talkers = await sync_to_async(_make_people)(people, list(site.ports.values()), seed, patience)
    hands = _dealt(VERBS, chance)
    async with asyncio.TaskGroup() as tasks:
        killer = tasks.create_task(_kill(site, chance, kills, pause))
        for person in talkers:
            verbs = chain([*islice(hands, messages)], _dealt(VERBS, person.chance))
            talk = person.talk(verbs, at_least=messages, until=killer.done, pause=people / MESSAGES_A_SECOND)
            tasks.create_task(_with_evidence(person, talk))
    for name in WEB:
        await asyncio.to_thread(site.wait_for, name)
    await _quiet(patience)
    for person in talkers:
        read = person.read_to((await Session.objects.aget(pk=person.browser.session_id)).last_seq)
        await _with_evidence(person, read)
    verdict = await sync_to_async(judge)(talkers)
    return Report(seed, site.kills, await _counts(talkers), verdict)


async def _with_evidence(person: Person, doing: Awaitable[None]) -> None:
    """When it breaks off, what is stored of the person's conversation is told, too."""
    try:
        await doing
    except TimeoutError as error:
        error.add_note(await sync_to_async(_stored)(person))
        raise


def _stored(person: Person) -> str:
    close_old_connections()
    return told(Conversation.load(Session.objects.get(pk=person.browser.session_id)))


async def _kill(site: Site, chance: random.Random, kills: int, pause: float) -> None:
    for target in islice(_dealt(TARGETS, chance), kills):
        await asyncio.sleep(pause * (0.5 + chance.random()))
        await asyncio.to_thread(site.kill, target)


def _dealt(kinds: Sequence[str], chance: random.Random) -> Iterator[str]:
    """Without end, in a random order in which none comes much oftener than another."""
    while True:
        yield from chance.sample(kinds, len(kinds))


async def _quiet(seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if await sync_to_async(_is_quiet)():
            return
        await asyncio.sleep(0.5)


def _is_quiet() -> bool:
    close_old_connections()
    return is_quiet()


async def _counts(people: Sequence[Person]) -> dict[str, int]:
    return {
        "messages": sum(len(person.said) for person in people),
        "events": await Event.objects.acount(),
        "jobs": await ToolJob.objects.acount(),
        "scheduled tasks": await ScheduledTask.objects.acount(),
        "resumed": await Invocation.objects.filter(attempts__gt=1).acount(),
        "stopped": await Invocation.objects.filter(status="cancelled").acount(),
        "edited": await Event.objects.rewinds().acount(),
        "waiting": await Invocation.objects.filter(status="waiting").acount(),
        "failed with a reason": await Invocation.objects.filter(status="failed").acount(),
        "answers over HTTP": await Event.objects.filter(prompt_tokens__isnull=False).acount(),
        "reconnects": sum(person.browser.reconnects for person in people),
    }


def _make_people(count: int, ports: list[int], seed: int, patience: float) -> list[Person]:
    """People who are signed in, each with a session of an obedient app; some share a user."""
    groups = [APPS[number % len(APPS)] for number in range(len(APPS) * USERS_OF_AN_APP)]
    sizes = [len(range(number, count, len(groups))) for number in range(len(groups))]
    doors = [door for app, size in zip(groups, sizes, strict=True) for door in make_doors(size, app)]
    people = []
    for number, door in enumerate(doors):
        session = Session.objects.get(pk=door.path.split("/")[3])
        way = random.Random(f"{seed} browser {number}")  # how often it is asked depends on who dies when
        browser = Browser(session.pk, door.cookie, ports, way)
        people.append(Person(number, browser, random.Random(f"{seed} person {number}"), patience))
    return people
