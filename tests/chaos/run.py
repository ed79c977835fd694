"""One run: people talk while processes are killed, then the database is checked. The seed repeats the choices."""

from __future__ import annotations

import asyncio
import math
import random
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import close_old_connections
from django.db.models import F

from sessions_app.invocations.answers.escalation import TOO_LATE
from sessions_app.models import ApiKey, Artifact, Event, Invocation, ScheduledTask, Session, ToolJob
from sessions_app.process.pool import close_pool
from sessions_app.use_cases import create_session
from tests.benchmarks.doors import sign_in
from tests.benchmarks.people import make_person
from tests.chaos.browser import Browser
from tests.chaos.flow_site.agents import app as flow
from tests.chaos.flow_site.agents import effects
from tests.chaos.people import MESSAGES_A_SECOND, VERBS, Person, verbs_of
from tests.chaos.processes import ONCE, TARGETS, WEB, Outage, Site
from tests.chaos.progress import while_progress
from tests.chaos.settings import HAS_A2A
from tests.chaos.staff import Staff
from tests.chaos.verdict import Verdict, is_quiet, judge

APPS_OF_USERS = ("chaos", flow.name, "chaos_gemini", "chaos", "chaos_gemini")
PROGRAM_AMONG = 3
"""Each of so many people is a program that uses the HTTP API. No divisor of the number of users: each has some."""
PATIENCE_SECONDS = 180.0
"""Time without any progress after which a run ends. A lost job or lease is taken up again within half of it."""
BUSY_SECONDS = 15.0
"""Longest wait until a web process runs an invocation, so that its kill interrupts one."""
BY_FORCE = "The function went on"


@dataclass(frozen=True)
class Report:
    """Result of a run: kills by target, outages, counts of what the people did, and the checks."""

    seed: int
    kills: dict[str, int]
    outages: list[str]
    counts: dict[str, int]
    verdict: Verdict

    def __str__(self) -> str:
        kills = ", ".join(f"{name} {count}" for name, count in sorted(self.kills.items()))
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        checked = "\n".join(f"  checked: {count} {name}" for name, count in self.verdict.checked.items())
        problems = [f"  PROBLEM {problem}" for problem in self.verdict.problems]
        head = f"chaos, seed {self.seed}: {sum(self.kills.values())} kills ({kills}); {counts}"
        verdict = f"{len(problems)} problems" if problems else "nothing lost, nothing repeated"
        outages = [f"  {outage}" for outage in self.outages]
        return "\n".join([head, *outages, checked, *problems, f"chaos, seed {self.seed}: {verdict}"])


async def run(site: Site, *, seed: int, people: int, messages: int, kills: int, pause: float) -> Report:
    """Run the load while processes are killed, wait until nothing runs, and check the database.

    The run takes as long as it makes progress. A run that ends early is checked as well: its end is a problem.

    Args:
        site: The processes to kill.
        seed: Seed of all random choices.
        people: Number of people.
        messages: Minimal number of acts of each person.
        kills: Number of kills.
        pause: Mean seconds between two kills.
    """
    talkers = await _make_people(people, site.addresses, seed)
    problems: list[str] = []
    try:
        async with while_progress(partial(_progress, site, talkers), patience=PATIENCE_SECONDS):
            await _talk_and_kill(site, talkers, random.Random(seed), messages, kills, pause)
            for name in WEB:
                await asyncio.to_thread(site.wait_for, name)
            await _wait_until(_is_quiet)
            for person in talkers:
                await person.read_to((await Session.objects.aget(pk=person.browser.session_id)).last_seq)
    except TimeoutError:
        problems.append(f"the run ended early: nothing happened for {PATIENCE_SECONDS:g} seconds")
    except Exception:  # noqa: BLE001 - the rows are checked whatever has ended the run
        problems.append(f"the run ended early: {traceback.format_exc()}")
    verdict = await sync_to_async(judge)(talkers, site.outages)
    verdict.add("runs to their end", 1, problems)
    outages = [await sync_to_async(_describe)(outage) for outage in site.outages]
    return Report(seed, site.kills, outages, await _counts(talkers), verdict)


async def _talk_and_kill(
    site: Site, talkers: Sequence[Person], choices: random.Random, messages: int, kills: int, pause: float
) -> None:
    first_verbs = _shuffled_forever(VERBS, choices)
    async with asyncio.TaskGroup() as tasks:
        killer = tasks.create_task(_kill_repeatedly(site, choices, kills, pause))
        for person in talkers:
            first = first_verbs if person.verbs is VERBS else _shuffled_forever(person.verbs, person.random)
            verbs = chain([*islice(first, messages)], _shuffled_forever(person.verbs, person.random))
            pause_of_person = len(talkers) / MESSAGES_A_SECOND
            talk = person.talk(verbs, at_least=messages, until=killer.done, pause=pause_of_person)
            tasks.create_task(talk)


async def _progress(site: Site, people: Sequence[Person]) -> list[int]:
    """Return figures of which some grows whenever anything has been done. None of them grows without end."""
    return [
        sum(site.kills.values()),
        sum(person.acts_done for person in people),
        sum(person.page.seq for person in people),
        *await sync_to_async(_stored_progress)(),
    ]


def _stored_progress() -> list[int]:
    close_old_connections()
    return [
        Event.objects.count(),
        Invocation.objects.filter(finished_at__isnull=False).count(),
        ToolJob.objects.filter(finished_at__isnull=False).count(),
    ]


async def _kill_repeatedly(site: Site, choices: random.Random, kills: int, pause: float) -> None:
    targets = [*islice(_shuffled_forever(TARGETS, choices), kills)]
    places = choices.sample(range(kills), min(kills, len(ONCE)))
    for place, target in zip(places, ONCE, strict=False):
        targets[place] = target
    for target in targets:
        await asyncio.sleep(pause * (0.5 + choices.random()))
        if target in WEB:
            await _wait_until(partial(_runs_invocations, site.processes[target].pid), BUSY_SECONDS)
        kill = asyncio.create_task(asyncio.to_thread(site.kill, target), name=f"kill {target}")
        try:
            await asyncio.shield(kill)
        finally:
            # Also when the run ends early: the checks need what is killed now, and is then started again.
            await asyncio.wait([kill])


def _shuffled_forever(kinds: Sequence[str], choices: random.Random) -> Iterator[str]:
    """Yield the kinds in random order, each once before any repeats, without end."""
    while True:
        yield from choices.sample(kinds, len(kinds))


async def _wait_until(is_so: Callable[[], bool], seconds: float = math.inf) -> None:
    """Wait until the database shows it, up to `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not await sync_to_async(is_so)():
        await asyncio.sleep(0.05)


def _is_quiet() -> bool:
    close_old_connections()
    return is_quiet()


def _runs_invocations(pid: int) -> bool:
    close_old_connections()
    return Session.objects.filter(lease_owner__contains=f":{pid}:").exists()


def _describe(outage: Outage) -> str:
    """Say how soon the answers went on that the outage interrupted."""
    interrupted = Invocation.objects.filter(created_at__lt=outage.begins_at, finished_at__gt=outage.ends_at)
    waits = interrupted.filter(status="completed").values_list(F("finished_at") - outage.ends_at, flat=True)
    seconds = sorted(wait.total_seconds() for wait in waits)
    described = f"PostgreSQL was away for {(outage.ends_at - outage.begins_at).total_seconds():.1f} s"
    if not seconds:
        return f"{described} and interrupted no answer"
    half, most = seconds[len(seconds) // 2], seconds[len(seconds) * 19 // 20]
    return (
        f"{described} and interrupted {len(seconds)} answers: half ended {half:.1f} s after it, 95 % {most:.1f} s, "
        f"all {seconds[-1]:.1f} s"
    )


async def _counts(people: Sequence[Person]) -> dict[str, int]:
    return {
        "messages": sum(len(person.sent) for person in people),
        "events": await Event.objects.acount(),
        "jobs": await ToolJob.objects.acount(),
        "jobs ended by force": await ToolJob.objects.filter(error_detail__startswith=BY_FORCE).acount(),
        "calls rejected in time": await Invocation.objects.filter(reason=TOO_LATE).acount(),
        "files": await Artifact.objects.acount(),
        "effects of nodes": sum(effects().values()),
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
    _, key = ApiKey.objects.all().make(user=user, name="chaos", scopes=["read", "run", "answer"])
    return key


async def _make_people(count: int, sites: list[str], seed: int) -> list[Person]:
    """Create signed-in people, each with a session of an obedient app; some share a user. Some are programs."""
    users = [await sync_to_async(make_person)() for _ in APPS_OF_USERS]
    cookies = [await sync_to_async(sign_in)(user) for user in users]
    keys = [await sync_to_async(_make_key)(user) for user in users]
    staff = Staff(await sync_to_async(_make_staff)(), sites)
    people = []
    for number in range(count):
        group = number % len(APPS_OF_USERS)
        app = APPS_OF_USERS[group]
        session = await create_session(users[group], app)
        # The number of reconnects depends on timing, so the browser's choices must not advance the person's.
        choices = random.Random(f"{seed} browser {number}")
        key = keys[group] if number % PROGRAM_AMONG == PROGRAM_AMONG - 1 else ""
        browser = Browser(session.pk, cookies[group], sites, choices, key)
        choices = random.Random(f"{seed} person {number}")
        people.append(
            Person(number, browser, staff, verbs_of(is_flow=app == flow.name, is_program=bool(key)), choices)
        )
    if HAS_A2A:
        from tests.chaos.a2a_program import A2aProgram

        session, choices = await create_session(users[0], APPS_OF_USERS[0]), random.Random(f"{seed} A2A")
        program = A2aProgram(session.pk, "", sites, choices, keys[0], app=APPS_OF_USERS[0])
        people.append(Person(count, program, staff, verbs_of(is_flow=False, is_program=True), choices))
    else:
        print("chaos: without a program of A2A, because a2a-sdk is not installed", flush=True)
    await close_pool()
    return people
