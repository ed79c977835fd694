"""One run: people talk while processes are killed, then the database is checked. The seed repeats the choices."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import close_old_connections

from sessions_app.invocations.answers.escalation import TOO_LATE
from sessions_app.models import ApiKey, Artifact, Event, Invocation, ScheduledTask, Session, ToolJob
from sessions_app.process.pool import close_pool
from sessions_app.use_cases import create_session
from tests.benchmarks.doors import sign_in
from tests.benchmarks.people import make_person
from tests.chaos.browser import Browser
from tests.chaos.conversation import Conversation
from tests.chaos.evidence import describe
from tests.chaos.people import MESSAGES_A_SECOND, VERBS, VERBS_OF_PROGRAMS, Person
from tests.chaos.processes import TARGETS, WEB, Site
from tests.chaos.settings import HAS_A2A
from tests.chaos.staff import Staff
from tests.chaos.verdict import Verdict, is_quiet, judge

APPS = ("chaos", "chaos_gemini")
USERS_PER_APP = 2
PROGRAM_AMONG = 3
"""Each of so many people is a program that uses the HTTP API."""
RECOVERY_SECONDS = 90.0
BUSY_SECONDS = 15.0
"""Longest wait until a web process runs an invocation, so that its kill interrupts one."""
BY_FORCE = "The function went on"
SECONDS_PER_PERSON = 1.0
"""Added to the timeout for each person, because the machine is busier with more people."""


@dataclass(frozen=True)
class Report:
    """Result of a run: kills by target, counts of what the people did, and the checks."""

    seed: int
    kills: dict[str, int]
    counts: dict[str, int]
    verdict: Verdict

    def __str__(self) -> str:
        kills = ", ".join(f"{name} {count}" for name, count in sorted(self.kills.items()))
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        checked = "\n".join(f"  checked: {count} {name}" for name, count in self.verdict.checked.items())
        problems = [f"  PROBLEM {problem}" for problem in self.verdict.problems]
        head = f"chaos, seed {self.seed}: {sum(self.kills.values())} kills ({kills}); {counts}"
        verdict = f"{len(problems)} problems" if problems else "nothing lost, nothing repeated"
        return "\n".join([head, checked, *problems, f"chaos, seed {self.seed}: {verdict}"])


async def run(site: Site, *, seed: int, people: int, messages: int, kills: int, pause: float) -> Report:
    """Run the load while processes are killed, wait until nothing runs, and check the database.

    Args:
        site: The processes to kill.
        seed: Seed of all random choices.
        people: Number of people.
        messages: Minimal number of acts of each person.
        kills: Number of kills.
        pause: Mean seconds between two kills.
    """
    choices = random.Random(seed)
    timeout = RECOVERY_SECONDS + people * SECONDS_PER_PERSON
    talkers = await _make_people(people, list(site.ports.values()), seed, timeout)
    first_verbs = _shuffled_forever(VERBS, choices)
    async with asyncio.TaskGroup() as tasks:
        killer = tasks.create_task(_kill_repeatedly(site, choices, kills, pause))
        for person in talkers:
            own = VERBS_OF_PROGRAMS if person.browser.key else VERBS
            first = first_verbs if own is VERBS else _shuffled_forever(own, person.random)
            verbs = chain([*islice(first, messages)], _shuffled_forever(own, person.random))
            talk = person.talk(verbs, at_least=messages, until=killer.done, pause=people / MESSAGES_A_SECOND)
            tasks.create_task(_with_evidence(person, talk))
    for name in WEB:
        await asyncio.to_thread(site.wait_for, name)
    await _wait_until(_is_quiet, timeout)
    for person in talkers:
        read = person.read_to((await Session.objects.aget(pk=person.browser.session_id)).last_seq)
        await _with_evidence(person, read)
    verdict = await sync_to_async(judge)(talkers, site.outages)
    return Report(seed, site.kills, await _counts(talkers), verdict)


async def _with_evidence(person: Person, act: Awaitable[None]) -> None:
    """Await the act; on a timeout add the person's stored conversation to the error."""
    try:
        await act
    except TimeoutError as error:
        error.add_note(await sync_to_async(_describe_stored)(person))
        raise


def _describe_stored(person: Person) -> str:
    close_old_connections()
    return describe(Conversation.load(Session.objects.get(pk=person.browser.session_id)))


async def _kill_repeatedly(site: Site, choices: random.Random, kills: int, pause: float) -> None:
    for target in islice(_shuffled_forever(TARGETS, choices), kills):
        await asyncio.sleep(pause * (0.5 + choices.random()))
        if target in WEB:
            await _wait_until(partial(_runs_invocations, site.processes[target].pid), BUSY_SECONDS)
        await asyncio.to_thread(site.kill, target)


def _shuffled_forever(kinds: Sequence[str], choices: random.Random) -> Iterator[str]:
    """Yield the kinds in random order, each once before any repeats, without end."""
    while True:
        yield from choices.sample(kinds, len(kinds))


async def _wait_until(is_so: Callable[[], bool], seconds: float) -> None:
    """Wait until the database shows it, at most so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not await sync_to_async(is_so)():
        await asyncio.sleep(0.05)


def _is_quiet() -> bool:
    close_old_connections()
    return is_quiet()


def _runs_invocations(pid: int) -> bool:
    close_old_connections()
    return Session.objects.filter(lease_owner__contains=f":{pid}:").exists()


async def _counts(people: Sequence[Person]) -> dict[str, int]:
    return {
        "messages": sum(len(person.sent) for person in people),
        "events": await Event.objects.acount(),
        "jobs": await ToolJob.objects.acount(),
        "jobs ended by force": await ToolJob.objects.filter(error_detail__startswith=BY_FORCE).acount(),
        "calls rejected in time": await Invocation.objects.filter(reason=TOO_LATE).acount(),
        "files": await Artifact.objects.acount(),
        "scheduled tasks": await ScheduledTask.objects.acount(),
        "resumed": await Invocation.objects.filter(attempts__gt=1).acount(),
        "stopped": await Invocation.objects.filter(status="cancelled").acount(),
        "edited or turned back": await Event.objects.rewinds().acount(),
        "waiting": await Invocation.objects.filter(status="waiting").acount(),
        "failed with a reason": await Invocation.objects.filter(status="failed").acount(),
        "answers over HTTP": await Event.objects.filter(prompt_tokens__isnull=False).acount(),
        "reconnects of websockets": sum(person.browser.reconnects["WebSocket"] for person in people),
        "reconnects of event streams": sum(person.browser.reconnects["EventStream"] for person in people),
        "reconnects of programs": sum(person.browser.reconnects["ApiClient"] for person in people),
        "reconnects of A2A": sum(person.browser.reconnects["A2aProgram"] for person in people),
    }


def _make_staff() -> str:
    user = make_person()
    user.is_staff = user.is_superuser = True
    user.save()
    return sign_in(user)


def _make_key(user: User) -> str:
    _, key = ApiKey.objects.all().make(user=user, name="chaos", scopes=["read", "run"])
    return key


async def _make_people(count: int, ports: list[int], seed: int, act_seconds: float) -> list[Person]:
    """Create signed-in people, each with a session of an obedient app; some share a user. Some are programs."""
    groups = [APPS[number % len(APPS)] for number in range(len(APPS) * USERS_PER_APP)]
    users = [await sync_to_async(make_person)() for _ in groups]
    cookies = [await sync_to_async(sign_in)(user) for user in users]
    keys = [await sync_to_async(_make_key)(user) for user in users]
    staff = Staff(await sync_to_async(_make_staff)(), ports)
    people = []
    for number in range(count):
        group = number % len(groups)
        session = await create_session(users[group], groups[group])
        # The number of reconnects depends on timing, so the browser's choices must not advance the person's.
        choices = random.Random(f"{seed} browser {number}")
        key = keys[group] if number % PROGRAM_AMONG == PROGRAM_AMONG - 1 else ""
        browser = Browser(session.pk, cookies[group], ports, choices, key)
        people.append(Person(number, browser, staff, random.Random(f"{seed} person {number}"), act_seconds))
    if HAS_A2A:
        from tests.chaos.a2a_program import A2aProgram

        session, choices = await create_session(users[0], groups[0]), random.Random(f"{seed} A2A")
        program = A2aProgram(session.pk, "", ports, choices, keys[0], app=groups[0])
        people.append(Person(count, program, staff, choices, act_seconds))
    else:
        print("chaos: without a program of A2A, because a2a-sdk is not installed", flush=True)
    await close_pool()
    return people
