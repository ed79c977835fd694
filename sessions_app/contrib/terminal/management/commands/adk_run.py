"""`manage.py adk_run`: send a message to an agent and write its answer, for scripts."""

import asyncio
import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

from runtime.events.event import Event as RuntimeEvent
from sessions_app.contrib.terminal.conversation import Conversation
from sessions_app.contrib.terminal.session_command import SessionCommand
from sessions_app.history.public_event import without_app_state
from sessions_app.live.updates import EventUpdate
from sessions_app.models import InvocationStatus, JobStatus
from sessions_app.process.threads import in_thread

FAILED, WAITING, TIMED_OUT = 1, 3, 124
"""Exit codes, besides 0 for an answer and 130 for an end by a signal."""
STDIN = "-"


@dataclass(frozen=True)
class ScriptEnd:
    """Outcome of a message and of its jobs.

    Attributes:
        status: status of the session's last invocation; `waiting` while a call or a job waits for an answer.
        answer: text of the last final response; empty without a final response.
        error: sentence about a failure.
    """

    status: str
    answer: str
    error: str


class Command(SessionCommand):
    """Write the answer to stdout and everything else to stderr."""

    help = (
        "Send one message to an agent; wait for the answer, and for those to its jobs. Exit codes: 0 answered, "
        "1 failed or refused, 3 waits for an approval or another answer, 124 timed out, 130 stopped by a signal."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("text", help="the message; - reads it from the standard input")
        parser.add_argument("--json", action="store_true", help="write each event as a line of JSON instead")
        parser.add_argument("--timeout", type=_seconds, help="seconds after which the answer is stopped")

    def handle(self, *args: Any, **options: Any) -> None:
        """Send the message and wait."""
        if options["text"] == STDIN:
            options["text"] = sys.stdin.buffer.read().decode("utf-8", "replace")
        self.talk(options, partial(self._run, options))

    async def _run(self, options: dict[str, Any], conversation: Conversation) -> int:
        try:
            ending = await run_message(
                conversation,
                options["text"],
                on_event=self._write_event if options["json"] else _ignore,
                seconds=options["timeout"],
            )
        except TimeoutError:
            self.stderr.write(f"Stopped after {options['timeout']:g} s: {_place_of(conversation)}.")
            return TIMED_OUT
        return self._report(ending, conversation, writes_answer=not options["json"])

    def _report(self, ending: ScriptEnd, conversation: Conversation, *, writes_answer: bool) -> int:
        if writes_answer and ending.answer:
            self.stdout.write(ending.answer)
        if ending.status == InvocationStatus.COMPLETED:
            return 0
        if ending.status == InvocationStatus.WAITING:
            self.stderr.write(f"Waiting for an answer: {_place_of(conversation)}.")
            return WAITING
        self.stderr.write(f"{ending.error or ending.status} ({_place_of(conversation)})")
        return FAILED

    async def _write_event(self, news: EventUpdate) -> None:
        body = without_app_state(json.loads(news.body))
        self.stdout.write(json.dumps(body, ensure_ascii=False))
        self.stdout.flush()


def _seconds(text: str) -> float:
    """Return a time limit in seconds.

    Raises:
        ArgumentTypeError: the text is no finite number above 0.
    """
    with suppress(ValueError):
        if 0 < (seconds := float(text)) < inf:
            return seconds
    raise ArgumentTypeError(f"{text!r} is no number of seconds above 0")


async def _ignore(news: EventUpdate) -> None:
    """Do nothing."""


def _place_of(conversation: Conversation) -> str:
    return f"session {conversation.session_id}"


async def run_message(
    conversation: Conversation,
    text: str,
    *,
    on_event: Callable[[EventUpdate], Awaitable[None]],
    seconds: float | None = None,
) -> ScriptEnd:
    """Send a message. Return once no invocation and no job of the session is queued or running.

    Raises:
        TimeoutError: the work took longer than `seconds`. The answer is stopped; jobs continue.
        asyncio.CancelledError: a signal ended the command. The answer is stopped as well.
    """
    answer = ""
    await conversation.send(text)
    try:
        async with asyncio.timeout(seconds):
            async for news in conversation.news(with_jobs=True):
                if isinstance(news, EventUpdate):
                    answer = _answer_in(news.event) or answer
                    await on_event(news)
    except (TimeoutError, asyncio.CancelledError):
        await conversation.stop()
        raise
    return await _ending(conversation, answer)


def _answer_in(event: RuntimeEvent) -> str:
    if event.author == "user" or not event.is_final_response():
        return ""
    return event.text()


async def _ending(conversation: Conversation, answer: str) -> ScriptEnd:
    session = await conversation.session()
    last = await in_thread(session.invocations.order_by("-pk").first)
    is_asking = await in_thread(session.jobs.filter(status=JobStatus.WAITING).exists)
    status: str = InvocationStatus.COMPLETED
    if is_asking:
        status = InvocationStatus.WAITING
    elif last:
        status = last.status
    return ScriptEnd(str(status), answer, last.error_message if last else "")
