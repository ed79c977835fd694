"""One writer per session: two processes that reach for the same invocation never interleave (design.md)."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from adk_site.embedded.paths import CHECKOUT
from sessions_app.db import invocation_queue
from sessions_app.db.pool import close_pool
from sessions_app.models import Event as Row
from sessions_app.models import Invocation, Session
from tests.integration.rival import EVENTS

ROUNDS = 1_000
RIVAL = "import django; django.setup(); from tests.integration.rival import main; main()"


def is_overtaken(number: int) -> bool:
    """Whether the lease of the round runs out in the middle of writing."""
    return number % 20 == 19


@dataclass(frozen=True)
class Written:
    """An event of the log: of which invocation it is, and who wrote it, under which lease."""

    id: str
    invocation_id: str
    owner: str
    lease: int


class Rival:
    """A process that takes part; ended, it has told what it did."""

    def __init__(self, session: Session) -> None:
        url = urlsplit(settings.DATABASE_URL)._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
        self._process = subprocess.Popen(
            [sys.executable, "-c", RIVAL, str(session.pk)],
            cwd=CHECKOUT,
            env={**os.environ, "DJANGO_SETTINGS_MODULE": "adk_site.settings", "DATABASE_URL": url},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, word: str) -> None:
        """Let it do its part of a round."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def hear(self) -> Any:
        """What it says next: that its part is over, or at the end what it did."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "The process has died: what it said of that stands above."
        return json.loads(line)

    def end(self) -> dict[str, Any]:
        """Let it tell what it did, and go."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        told: dict[str, Any] = self.hear()
        return told

    def close(self) -> None:
        """Whatever happened, it is gone."""
        with self._process:
            self._process.kill()


@contextmanager
def two_rivals(session: Session) -> Iterator[list[Rival]]:
    rivals = [Rival(session), Rival(session)]
    try:
        yield rivals
    finally:
        for rival in rivals:
            rival.close()


def play(session: Session, rivals: list[Rival]) -> None:
    """Round after round, both are told at once that there is something to run."""
    with asyncio.Runner() as loop:
        for number in range(ROUNDS):
            names = {"invocation_id": f"e-{number}", "client_id": f"m{number}"}
            loop.run(invocation_queue.enqueue(session.pk, user_id=session.user_id, message={}, **names))
            for rival in rivals:
                rival.begin("overtake" if is_overtaken(number) else "duel")
            assert [rival.hear() for rival in rivals] == ["done", "done"]
        loop.run(close_pool())


def log_of(session: Session) -> list[Written]:
    """What is stored, in order, without a gap."""
    rows = list(Row.objects.filter(session=session).order_by("seq"))
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    return [
        Written(row.body["id"], row.invocation_id, row.text, row.body["customMetadata"]["lease"])
        for row in rows
    ]


def test_two_processes_that_reach_for_the_same_invocation_a_thousand_times_never_interleave(
    person: User,
) -> None:
    session = Session.objects.create(app_name="fence", user=person, key="fence")
    with two_rivals(session) as rivals:
        play(session, rivals)
        told = [rival.end() for rival in rivals]

    log = log_of(session)
    leases = [(lease, list(events)) for lease, events in groupby(log, lambda event: event.lease)]
    assert [lease for lease, _ in leases] == sorted({event.lease for event in log}), "leases are interleaved"
    assert all(len({event.owner for event in events}) == 1 for _, events in leases)
    # What its owner was told is stored, and nothing else.
    stored = {int(lease): ids for one in told for lease, ids in one["stored"].items()}
    assert {lease: [event.id for event in events] for lease, events in leases} == stored

    # Of each invocation the last lease wrote all of it, a lease before only where it ran out.
    written = {f"e-{number}": list[int]() for number in range(ROUNDS)}
    for _, events in leases:
        written[events[0].invocation_id].append(len(events))
    assert [event.invocation_id for event in log] == [
        id for id, sizes in written.items() for _ in range(sum(sizes))
    ]
    assert all(sizes[-1] == EVENTS for sizes in written.values())
    overtaken = {f"e-{number}" for number in range(ROUNDS) if is_overtaken(number)}
    assert {id for id, sizes in written.items() if len(sizes) > 1} <= overtaken
    statuses = Invocation.objects.filter(session=session).values_list("invocation_id", "status", "attempts")
    assert set(statuses) == {(id, "completed", 2 if id in overtaken else 1) for id in written}
    assert [one["ended_in_vain"] for one in told] == [0, 0]

    assert [one["known"] for one in told] == [[event.id for event in log]] * 2
    # Both took part, and leases ran out in the middle of writing.
    assert all(one["stored"] and one["refused"] for one in told)
    assert any(len(sizes) == 2 for sizes in written.values())
