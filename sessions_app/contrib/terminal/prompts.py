"""Prompts: read lines that a user types in a terminal, or that a program writes to a pipe."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.output import ColorDepth

from sessions_app.contrib.terminal.screen import Screen

CHUNK_BYTES = 65_536


class LeaveError(Exception):
    """Ctrl-C or Ctrl-D was pressed at an empty prompt, or the input has ended."""


class WithdrawnError(Exception):
    """The prompt was withdrawn; `draft` is the text typed so far."""

    def __init__(self, draft: str) -> None:
        super().__init__(draft)
        self.draft = draft


class Prompt(Protocol):
    """Asks for texts, one at a time."""

    async def ask(self, label: str, draft: str = "") -> str:
        """Return the entered text, including pasted lines.

        Raises:
            LeaveError: the user leaves, or the input has ended.
            WithdrawnError: `withdraw` was called.
        """

    def withdraw(self) -> bool:
        """End `ask` with a WithdrawnError. Return False if this prompt cannot be withdrawn."""

    def redraw(self) -> None:
        """Update the line below the prompt."""


class TerminalPrompt:
    """Line editing with history. Pasted lines stay together, and Ctrl-C drops the text.

    Args:
        below: returns the line below the prompt; empty for none.
    """

    def __init__(self, *, has_colour: bool, below: Callable[[], str]) -> None:
        self._below = below
        self._session: PromptSession[str] = PromptSession(
            color_depth=None if has_colour else ColorDepth.DEPTH_1_BIT,
            interrupt_exception=LeaveError,
            eof_exception=LeaveError,
        )

    async def ask(self, label: str, draft: str = "") -> str:
        """Return the entered text."""
        self._session.app.erase_when_done = False
        toolbar = self._below if self._below() else None
        # `handle_sigint`: the command has its own handler, which stops an answer.
        try:
            entered: str = await self._session.prompt_async(
                label, default=draft, bottom_toolbar=toolbar, handle_sigint=False
            )
            return entered
        except LeaveError:
            if not self._session.default_buffer.text:
                raise
            return ""  # Ctrl-C at a text drops the text, as in a shell.

    def withdraw(self) -> bool:
        """End `ask` with the text typed so far."""
        app = self._session.app
        if app.is_running and not app.is_done:
            app.erase_when_done = True
            app.exit(exception=WithdrawnError(self._session.default_buffer.text))
        return True

    def redraw(self) -> None:
        """Update the line below the prompt."""
        self._session.app.invalidate()


class PipePrompt:
    """Lines of the standard input, written to the output as if they were typed."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._buffer = b""

    async def ask(self, label: str, draft: str = "") -> str:
        """Return the next line."""
        line = (await self._read_line()).decode("utf-8", "replace")
        await self._screen.line(label + line)
        return line

    def withdraw(self) -> bool:
        """Return False: reading a line cannot be interrupted."""
        return False

    def redraw(self) -> None:
        """Do nothing: there is no line below."""

    async def _read_line(self) -> bytes:
        while b"\n" not in self._buffer:
            chunk = await _read_input()
            if not chunk and not self._buffer:
                raise LeaveError
            self._buffer += chunk or b"\n"  # The last line may lack its end.
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line


async def _read_input() -> bytes:
    # In a daemon thread: a thread of the loop's pool that waits for input would keep the process from ending.
    loop = asyncio.get_running_loop()
    chunk: asyncio.Future[bytes] = loop.create_future()

    def hand_over(read: bytes) -> None:
        if not chunk.done():
            chunk.set_result(read)

    def read() -> None:
        read = os.read(sys.stdin.fileno(), CHUNK_BYTES)
        with suppress(RuntimeError):  # The loop has ended since.
            loop.call_soon_threadsafe(hand_over, read)

    threading.Thread(target=read, name="standard input", daemon=True).start()
    return await chunk
