"""Output of text to a terminal or a pipe.

Texts of agents are not trusted: control characters, which could move the cursor or change the terminal, are escaped.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Protocol, cast

from django.utils.termcolors import make_style

from sessions_app.rendering.hidden_characters import escape_hidden


class TextOutput(Protocol):
    """A stream that knows if it is a terminal, such as `BaseCommand.stdout`."""

    def write(self, text: str, *, ending: str) -> None:
        """Write the text."""

    def flush(self) -> None:
        """Flush what is written."""

    def isatty(self) -> bool:
        """True for a terminal."""


class Screen:
    """Write pieces of text.

    Args:
        has_colour: False to never use colour.
    """

    def __init__(self, output: TextOutput, *, has_colour: bool = True) -> None:
        self._output = output
        self._column_is_first = True
        self.has_colour = has_colour and output.isatty() and not os.environ.get("NO_COLOR")

    async def write(self, text: str, *styles: str, colour: str = "") -> None:
        """Write a text in a colour and styles of `django.utils.termcolors`."""
        if not text:
            return
        text = escape_hidden(text.replace("\r\n", "\n").replace("\r", "\n"))
        self._column_is_first = text.endswith("\n")
        if self.has_colour:
            text = self._painted(text, styles, colour)
        # In a thread: a stopped terminal or a full pipe must not block the event loop.
        await asyncio.to_thread(self._write_now, text)

    async def line(self, text: str, *styles: str, colour: str = "") -> None:
        """Write a text on a new line, and end the line."""
        await self.end_line()
        await self.write(f"{text}\n", *styles, colour=colour)

    async def end_line(self) -> None:
        """Begin a new line, unless the current line is empty."""
        if not self._column_is_first:
            await self.write("\n")

    def _painted(self, text: str, styles: tuple[str, ...], colour: str) -> str:
        if not styles and not colour:
            return text
        foreground = {"fg": colour} if colour else {}
        paint = cast(Callable[[str], str], make_style(styles, **foreground))
        return "\n".join(paint(line) if line else line for line in text.split("\n"))

    def _write_now(self, text: str) -> None:
        self._output.write(text, ending="")
        self._output.flush()
