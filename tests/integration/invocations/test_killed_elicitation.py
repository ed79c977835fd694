"""A question of an MCP server with a page, form or prompt outlives the process: another one goes on (contract T13)."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app import use_cases
from sessions_app.invocations.worker import InvocationWorker
from sessions_app.live.process import live
from sessions_app.models import AnswerRequest, Event, Invocation, RequestKind, Session
from sessions_app.store.sql import leases
from tests.forked_program import ForkServer
from tests.free_port import free_port
from tests.integration.invocations.page_opener import NAME, page_opener
from tests.integration.management.terminal import site_environment
from tests.mcp_process import running_server
from tests.mcp_server import PAGE, WHICH_FOLDER
from tests.served_agents import Served


@dataclass(frozen=True)
class Dying:
    """Runs the program of `page_opener` and kills it."""

    programs: ForkServer
    session: Session
    arguments: tuple[str, ...]
    run_log: Path

    async def act(self, calls: int) -> None:
        """Act, and die while the server has so many calls, of which it has not answered the last."""
        log = self.run_log.with_suffix(".program")
        program = self.programs.run_with_log(
            "tests.integration.invocations.page_opener",
            str(self.session.pk),
            *self.arguments,
            environment=site_environment(),
            log=log,
        )
        while not self.run_log.exists() or self.run_log.read_text() != "called\n" * calls:
            assert program.poll() is None, log.read_text()
            await asyncio.sleep(0.01)
        program.kill()
        assert program.wait() == -signal.SIGKILL
        past = timezone.now() - timedelta(seconds=1)
        await Session.objects.filter(pk=self.session.pk).aupdate(lease_expires_at=past)


async def take_over(session: Session) -> str:
    """Go on in this process; return the last text of the log."""
    assert await leases.take_back_expired() == [session.pk]
    await InvocationWorker(live()).run_queue(session.pk)
    return str((await Event.objects.filter(session=session).alatest("seq")).text)


@pytest.mark.parametrize(
    ("wants", "asked", "result"),
    [
        ("page", PAGE, "Your files."),
        ("form", "letters", "Your files in notes."),
        ("model", WHICH_FOLDER, "Your files in notes."),
    ],
)
async def test_the_process_is_killed_before_the_question_and_after_the_answer_in_the_inbox(
    person: User, served: Served, loop_end: None, tmp_path: Path, wants: str, asked: str, result: str
) -> None:
    port = free_port()
    run_log = tmp_path / "log"
    answering = tmp_path / "log.go"
    served(page_opener(port, str(run_log), wants))
    session = await use_cases.create_session(person, NAME)
    environment = site_environment(ALLOWED_HOSTS="testserver")
    modules = ("adk_site.urls", "sessions_app.tasks", "tests.fakes")
    with running_server("http", port), ForkServer(environment, *modules) as programs:
        dying = Dying(programs, session, (str(port), str(run_log), wants), run_log)
        await dying.act(calls=1)
        answering.touch()
        await take_over(session)
        assert (await AnswerRequest.objects.aget(session=session)).kind == RequestKind.CONFIRMATION
        assert asked in str((await Event.objects.filter(session=session).alatest("seq")).body)
        answering.unlink()
        (tmp_path / "log.opened").touch()
        await dying.act(calls=3)
        answering.touch()
        assert result in await take_over(session)
    assert run_log.read_text() == "called\n" * 4
    assert not await AnswerRequest.objects.aexists()
    assert {row.status async for row in Invocation.objects.all()} == {"completed"}
