"""One writer per session: two processes that claim the same invocation never interleave their events."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.contrib.auth.models import User

from sessions_app.models import Event as Row
from sessions_app.models import Invocation, Session
from sessions_app.process.pool import close_pool
from sessions_app.store.sql import invocation_queue
from sessions_app.store.sql.invocation_queue import NewInvocation
from tests.forked_program import ForkServer
from tests.integration.invocations.rival import EVENTS
from tests.integration.management.terminal import site_environment

ROUNDS = 200
RIVAL = "tests.integration.invocations.rival"
IMPORTED = ("sessions_app.process.pool", "sessions_app.store")


def is_overtaken(number: int) -> bool:
    """Return True if the lease of the round expires between two events."""
    return number % 20 == 19


@dataclass(frozen=True)
class Written:
    """An event of the log, with its writer and the writer's lease."""

    id: str
    invocation_id: str
    owner: str
    lease: int


class Rival:
    """A process that claims and writes; at its end it reports."""

    def __init__(self, server: ForkServer, session: Session) -> None:
        inside, told = os.pipe()
        said, outside = os.pipe()
        self._input, self._output = open(told, "w"), open(said)
        self._process = server.run(
            RIVAL, str(session.pk), environment=site_environment(), files=(inside, outside, 2)
        )
        os.close(inside)
        os.close(outside)

    def begin(self, word: str) -> None:
        """Start the process's part of a round."""
        self._input.write(f"{word}\n")
        self._input.flush()

    def read(self) -> Any:
        """Return the next line of the process: "done" after a round, the report at the end."""
        line = self._output.readline()
        assert line, "The process has died; its traceback stands above."
        return json.loads(line)

    def end(self) -> dict[str, Any]:
        """Let the process exit, and return its report."""
        self._input.close()
        report: dict[str, Any] = self.read()
        return report

    def close(self) -> None:
        """Kill the process if it still runs."""
        self._process.kill()
        self._process.wait()
        self._input.close()
        self._output.close()


@contextmanager
def two_rivals(session: Session) -> Iterator[list[Rival]]:
    with ForkServer(site_environment(), *IMPORTED) as server, ExitStack() as at_end:
        rivals = [Rival(server, session), Rival(server, session)]
        for rival in rivals:
            at_end.callback(rival.close)
        yield rivals


def play(session: Session, rivals: list[Rival]) -> None:
    """Queue an invocation in each round, and start both processes at once."""
    with asyncio.Runner() as loop:
        for number in range(ROUNDS):
            queueing = invocation_queue.enqueue(
                NewInvocation(
                    session.pk,
                    user_id=session.user_id,
                    invocation_id=f"e-{number}",
                    client_id=f"m{number}",
                    message={},
                )
            )
            loop.run(queueing)
            for rival in rivals:
                rival.begin("overtake" if is_overtaken(number) else "duel")
            assert [rival.read() for rival in rivals] == ["done", "done"]
        loop.run(close_pool())


def log_of(session: Session) -> list[Written]:
    """Return the stored events, after a check that their `seq` has no gaps."""
    rows = list(Row.objects.filter(session=session).order_by("seq"))
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    return [
        Written(row.body["id"], row.invocation_id, row.text, row.body["customMetadata"]["lease"])
        for row in rows
    ]


def test_two_processes_that_claim_the_same_invocations_again_and_again_never_interleave(
    person: User,
) -> None:
    session = Session.objects.create(app_name="fence", user=person, key="fence")
    with two_rivals(session) as rivals:
        play(session, rivals)
        reports = [rival.end() for rival in rivals]

    log = log_of(session)
    leases = [(lease, list(events)) for lease, events in groupby(log, lambda event: event.lease)]
    assert [lease for lease, _ in leases] == sorted({event.lease for event in log}), "leases are interleaved"
    assert all(len({event.owner for event in events}) == 1 for _, events in leases)
    # The log has the events that the lease holders saw committed, and no others.
    stored = {int(lease): ids for report in reports for lease, ids in report["stored"].items()}
    assert {lease: [event.id for event in events] for lease, events in leases} == stored

    # The last lease of an invocation wrote all its events; an earlier lease wrote some only where it expired.
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
    assert [report["ended_in_vain"] for report in reports] == [0, 0]

    assert [report["known"] for report in reports] == [[event.id for event in log]] * 2
    # Both processes wrote, and leases expired between two events.
    assert all(report["stored"] and report["refused"] for report in reports)
    assert any(len(sizes) == 2 for sizes in written.values())
