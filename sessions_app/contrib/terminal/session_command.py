"""Base of the commands that talk to an agent: arguments, event loop, signals and shutdown.

The command's process may run the invocation itself, like a web process. When the command ends first, by a signal or a
closed pipe, it hands the invocation over to the site's processes.
"""

import asyncio
import logging
import os
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model

from sessions_app.agent_apps.registry import get_app
from sessions_app.contrib.terminal.conversation import Conversation
from sessions_app.errors import InvalidInputError, NotFoundError
from sessions_app.management.site_command import SiteCommand, user_named
from sessions_app.models import Session
from sessions_app.sessions.ownership import User
from sessions_app.shutdown import shut_down

INTERRUPTED = 130
BROKEN_PIPE = 141
"""Exit codes after Ctrl-C, and after the reader of the output has gone."""
MAX_NAMES = 10
"""Maximum number of names in an error."""


class SessionCommand(SiteCommand):
    """Talk to an agent as a user of the site."""

    requires_system_checks: list[str] = []  # a mistake in another agent is no reason to refuse

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("app", help="the app to talk to, as manage.py adk_check lists it")
        parser.add_argument(
            "--user", help="the user whose conversation it is; the default is the only one who is not staff"
        )
        parser.add_argument("--session", type=UUID, help="go on with the session that has this id")

    def talk(self, options: dict[str, Any], work: Callable[[Conversation], Awaitable[int]]) -> None:
        """Open the conversation and run `work` with it. Exit with the code that `work` returns.

        Raises:
            AdkError: the site has no such app, user or session.
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
        except BrokenPipeError:
            # The reader of the output has gone. Python would fail once more when it flushes stdout at its exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = BROKEN_PIPE
        if code:
            sys.exit(code)


def _user(name: str | None, session_id: UUID | None) -> User:
    """Return the active user with a name; without a name the owner of the session, else the only possible user.

    Raises:
        NotFoundError: there is no such user.
        InvalidInputError: the named user is inactive; or no name is given, and there are several users.
    """
    if name is not None:
        user = user_named(name)
        if not user.is_active:
            raise InvalidInputError(f"The user '{name}' is not active.")
        return user
    if session_id:
        session = Session.objects.filter(pk=session_id).select_related("user").first()
        if session is not None:
            return session.user
    model: Any = get_user_model()
    people: list[User] = list(model._default_manager.filter(is_active=True, is_staff=False)[: MAX_NAMES + 1])
    if not people:
        raise NotFoundError("The site has no active user who is not staff. Name a user: --user NAME.")
    if len(people) > 1:
        names = ", ".join(user.get_username() for user in people[:MAX_NAMES])
        raise InvalidInputError(f"Name the user whose conversation it is: --user NAME, such as {names}.")
    return people[0]


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
