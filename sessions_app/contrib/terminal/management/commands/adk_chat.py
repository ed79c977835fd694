"""`manage.py adk_chat`: talk to an agent in the terminal."""

import asyncio
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from sessions_app.contrib.terminal.chat import TerminalChat
from sessions_app.contrib.terminal.conversation import Conversation
from sessions_app.contrib.terminal.display import Display
from sessions_app.contrib.terminal.prompts import PipePrompt, Prompt, TerminalPrompt
from sessions_app.contrib.terminal.screen import Screen
from sessions_app.contrib.terminal.session_command import SessionCommand
from sessions_app.rendering.session_view import Reader, SessionView


class Command(SessionCommand):
    """Read messages from the terminal, or lines from a pipe, until their end."""

    help = (
        "Talk to an agent. The conversation is one of the site: the user sees it in the chat, staff in the "
        "admin. Ctrl-C stops an answer, a second one leaves; -v 2 shows arguments, results and state."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Talk until the user leaves."""
        self.talk(options, partial(self._chat, options))

    async def _chat(self, options: dict[str, Any], conversation: Conversation) -> int:
        screen = Screen(self.stdout, has_colour=not options["no_color"])
        reader = replace(Reader.of(conversation.user), shows_details=options["verbosity"] > 1)
        view = SessionView(conversation.session_id, conversation.app_name, reader)
        display = Display(screen, view, conversation.user)
        chat = TerminalChat(conversation, screen, display, partial(_make_prompt, screen))
        _handle_ctrl_c(chat)
        who = f"{conversation.app_name}, as {conversation.user.get_username()}"
        await screen.line(f"{who}. Ctrl-C stops an answer, Ctrl-D leaves.", colour="yellow")
        try:
            await chat.run()
        except asyncio.CancelledError:
            if not chat.was_left:
                raise
        finally:
            await screen.end_line()
            if not conversation.is_new:
                again = f"manage.py adk_chat {conversation.app_name} --session {conversation.session_id}"
                await screen.line(f"To go on: {again}", colour="yellow")
        return 0


def _make_prompt(screen: Screen, below: Callable[[], str]) -> Prompt:
    if sys.stdin.isatty() and sys.stdout.isatty():
        return TerminalPrompt(has_colour=screen.has_colour, below=below)
    return PipePrompt(screen)


def _handle_ctrl_c(chat: TerminalChat) -> None:
    """Let Ctrl-C stop the answer. Without a running answer, or a second time, Ctrl-C leaves."""
    task = asyncio.current_task()

    def interrupt() -> None:
        if not chat.interrupt() and task is not None:
            task.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupt)
