"""One message for a script: send it, wait for all that follows, and tell how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from runtime.events.event import Event
from sessions_app.contrib.terminal.conversation import Conversation
from sessions_app.live.updates import EventUpdate
from sessions_app.models import InvocationStatus, JobStatus
from sessions_app.process.threads import in_thread


@dataclass(frozen=True)
class ScriptEnd:
    """Outcome of a message with all that followed it.

    Attributes:
        status: that of the session's last invocation; `waiting` while a call or a job waits for an answer.
        answer: text of the last final response; empty without one.
        error: sentence about a failure.
    """

    status: str
    answer: str
    error: str


async def run_message(
    conversation: Conversation,
    text: str,
    *,
    on_event: Callable[[EventUpdate], Awaitable[None]],
    seconds: float | None = None,
) -> ScriptEnd:
    """Send a message; return when no invocation and no job of the session is queued or runs.

    Raises:
        TimeoutError: the work takes longer than `seconds`. The answer is stopped; jobs go on.
        asyncio.CancelledError: the process is told to end. The answer is stopped as well.
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


def _answer_in(event: Event) -> str:
    return event.text() if event.author != "user" and event.is_final_response() else ""


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
