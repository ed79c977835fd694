"""A workflow of twenty nodes whose process is killed right after any commit, in a web process and in a worker.

Whatever the moment: each output stands once in the log, each effect happens at most once more than without the kill,
and the end is that of an uninterrupted run (contract W3). With EVERY_COMMIT in the environment the process is killed at
each commit, otherwise at some.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from runtime.events import Event
from sessions_app import use_cases
from sessions_app.models import Event as Row
from sessions_app.models import Invocation, Session
from sessions_app.process import threads
from tests.forked_program import ForkServer
from tests.integration.jobs.long_workflow import EFFECTS, FAILURES, ROUNDS, long_workflow
from tests.integration.management.terminal import site_environment
from tests.served_agents import Served

PROGRAM = "tests.integration.jobs.long_workflow"
NEVER = 1_000_000
EVERY = 1 if "EVERY_COMMIT" in os.environ else 12


class Site:
    """Runs of the workflow, each in a session of its own."""

    def __init__(self, server: ForkServer, person: User, folder: Path) -> None:
        self._server = server
        self._person = person
        self._folder = folder
        self.log = folder / "log"

    def begin(self) -> UUID:
        """Make a session."""
        session: Session = threads.run(use_cases.create_session(self._person, "long"))
        return session.pk

    def drive(self, door: str, session_id: UUID, death: int = NEVER) -> int:
        """Drive the workflow in another process until it dies or all is done; return the exit code."""
        environment = site_environment(**{EFFECTS: str(self._folder / f"{session_id}")})
        program = self._server.run_with_log(
            PROGRAM, door, str(session_id), str(death), environment=environment, log=self.log
        )
        return program.wait()

    def effects(self, session_id: UUID) -> Counter[str]:
        """Count the effects of a run by name."""
        return Counter((self._folder / f"{session_id}").read_text().split())


@pytest.fixture(scope="module")
def server(django_db_setup: None) -> Iterator[ForkServer]:
    with ForkServer(site_environment(), "adk_site.urls", "sessions_app.tasks", "tests.fakes") as running:
        yield running


@pytest.fixture
def site(server: ForkServer, person: User, served: Served, background_end: None, tmp_path: Path) -> Site:
    served(long_workflow())
    return Site(server, person, tmp_path)


def ends(session_id: UUID) -> dict[str, object]:
    """Return the outputs of the nodes by path; each has one event."""
    found: dict[str, object] = {}
    for row in Row.objects.filter(session=session_id).order_by("seq"):
        event = Event.model_validate(row.body)
        if event.node_info and event.node_info.has_ended:
            assert event.node_info.path not in found, f"{event.node_info.path} has ended twice"
            found[event.node_info.path] = event.output
    return found


@pytest.mark.parametrize("door", ["web", "worker"])
@pytest.mark.timeout(0)  # it has as many runs as the workflow has commits
def test_a_workflow_that_is_killed_at_a_commit_ends_as_an_uninterrupted_one(site: Site, door: str) -> None:
    whole = site.begin()
    assert site.drive(door, whole) == 0, site.log.read_text()
    commits = int(site.log.read_text().split()[-1])
    expected = ends(whole)
    effects = site.effects(whole)
    assert len({path.rpartition("/")[2].partition("@")[0] for path in expected}) == 20
    assert effects["mail"] == FAILURES + 1 and effects[f"count{ROUNDS - 1}"] == 1
    state = Session.objects.get(pk=whole).state
    # The two doors begin at different commits.
    first = 1 if EVERY == 1 or door == "web" else 1 + EVERY // 2
    killed = range(first, commits + 1, EVERY)
    for commit in killed:
        session_id = site.begin()
        assert site.drive(door, session_id, commit) in (-signal.SIGKILL, 0), site.log.read_text()
        assert site.drive(door, session_id) == 0, site.log.read_text()
        assert ends(session_id) == expected, commit
        assert Session.objects.get(pk=session_id).state == state, commit
        more = site.effects(session_id) - effects
        assert set(more.values()) <= {1} and site.effects(session_id) >= effects, (commit, more)
        statuses = Invocation.objects.filter(session=session_id).values_list("status", flat=True)
        assert set(statuses) == {"completed"}, commit
    assert len(killed) >= 5
