"""Base of the commands that talk to an agent: arguments, event loop, signals and shutdown.

The command's process may run the invocation itself, like a web process. When the command ends first, by a signal or a
closed pipe, it hands the invocation over to the site's processes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from runtime.errors import AdkError
from sessions_app.agent_apps.registry import get_app
from sessions_app.contrib.terminal.conversation import Conversation
from sessions_app.management.subject import user_at_terminal
from sessions_app.models import Session
from sessions_app.sessions.ownership import User
from sessions_app.shutdown import shut_down

INTERRUPTED = 130
BROKEN_PIPE = 141
"""Exit codes after Ctrl-C, and after the reader of the output has gone."""


class SessionCommand(BaseCommand):
    """Talk to an agent as a user of the site."""

    requires_system_checks: list[str] = []  # a mistake in another agent is no reason to refuse

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the app, the user and the session."""
        parser.add_argument("app", help="the app to talk to, as manage.py adk_check lists it")
        parser.add_argument(
            "--user", help="the user whose conversation it is; the default is the only one who is not staff"
        )
        parser.add_argument("--session", type=UUID, help="go on with the session that has this id")

    def talk(self, options: dict[str, Any], work: Callable[[Conversation], Awaitable[int]]) -> None:
        """Open the conversation and run `work` with it. Exit with the code that `work` returns.

        Raises:
            CommandError: the site has no such app, user or session.
        """
        if options["verbosity"] < 2:  # Log lines would stand in the middle of the answers.
            logging.getLogger().setLevel(max(logging.WARNING, logging.getLogger().level))
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # characters beyond an encoding
        try:
            get_app(options["app"])
            user = _user(options["user"], options["session"])
            opening = Conversation.open(user, options["app"], options["session"])
            code = asyncio.run(_run(opening, work))
        except AdkError as error:
            raise CommandError(str(error)) from error
        except BrokenPipeError:
            # The reader of the output has gone. Python would fail once more when it flushes stdout at its exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = BROKEN_PIPE
        if code:
            sys.exit(code)


def _user(name: str | None, session_id: UUID | None) -> User:
    """Return the user with the name; without a name the owner of the session, else the only possible user."""
    session = Session.objects.filter(pk=session_id).select_related("user").first() if session_id else None
    if name is None and session is not None:
        return session.user
    return user_at_terminal(name)


async def _run(opening: Awaitable[Conversation], work: Callable[[Conversation], Awaitable[int]]) -> int:
    """Run the work in a task until it ends or a signal cancels it; then shut down."""
    # Signals cancel the task and not the shutdown, which has to stop the listeners that keep the process alive.
    loop = asyncio.get_running_loop()
    working = asyncio.create_task(_open_and_run(opening, work), name="talk")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, working.cancel)
    try:
        return await working
    except asyncio.CancelledError:
        return INTERRUPTED
    finally:
        await shut_down()


async def _open_and_run(
    opening: Awaitable[Conversation], work: Callable[[Conversation], Awaitable[int]]
) -> int:
    conversation = await opening
    try:
        return await work(conversation)
    finally:
        conversation.feed.leave()
