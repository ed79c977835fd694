"""TaskFeed: the news of a task, until it has ended or waits for the user.

The feed of the session brings texts, events and notices. A notice is only a hint that the state may have changed: the
task is read from the tables again, and `StateNews` follows if the state differs. The state of the tables is what other
requests see, so a feed cannot contradict them.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass

from runtime.events.event import Event as RuntimeEvent
from sessions_app.api.access.callers import Caller
from sessions_app.api.access.connections import end_on_sign_out
from sessions_app.api.tasks.site_task import SiteTask, load_task
from sessions_app.asgi.protocol import AsgiScope
from sessions_app.errors import NotFoundError
from sessions_app.history.event_marks import writer_of
from sessions_app.live.notices import InvocationNotice, JobNotice
from sessions_app.live.session_feed import SessionFeed
from sessions_app.live.streamed_text import TextChunk
from sessions_app.live.updates import EventUpdate, NoticeUpdate, StatusUpdate, TextUpdate, Update


@dataclass(frozen=True)
class TextNews:
    """A piece of a growing text. The event with the whole text follows."""

    event_id: str
    text: str
    is_first: bool


@dataclass(frozen=True)
class EventNews:
    event: RuntimeEvent


@dataclass(frozen=True)
class ProgressNews:
    """Progress of a job, on one line."""

    line: str


@dataclass(frozen=True)
class StateNews:
    """The state has changed: see `TaskFeed.task`."""


TaskNews = TextNews | EventNews | ProgressNews | StateNews


class TaskFeed:
    """Yields the news of a task.

    Attributes:
        task: the task as last read.
    """

    def __init__(self, task: SiteTask) -> None:
        self.task = task
        self.feed = SessionFeed(task.session.pk, task.session.user_id, after=task.last_seq)
        self._begun: set[str] = set()
        self._sent_events = {event.id for event in task.events}
        self._state = task.state

    async def news(self) -> AsyncGenerator[TaskNews, None]:
        """Yield the news. The last is the state of the task at rest."""
        if self.task.is_at_rest:
            yield StateNews()
            return
        try:
            async for update in self.feed:
                async for news in self._news_of(update):
                    yield news
                if self.task.state != self._state:
                    for news in self._news_of_state():
                        yield news
                if self.task.is_at_rest:
                    return
        finally:
            self.feed.leave()

    def refuse_if_ended(self) -> None:
        """Raise NotFoundError if the key was revoked, or the session deleted, while the feed was read."""
        if self.feed.reason:
            raise NotFoundError("There is no such task here.")

    async def _news_of(self, update: Update) -> AsyncIterator[TaskNews]:
        match update:
            case TextUpdate(chunk=chunk):
                if not chunk.stream.thought and chunk.stream.invocation_id in self.task.invocation_ids:
                    yield self._news_of_text(chunk)
            case EventUpdate(event=event):
                if await self._is_of_task(event) and event.id not in self._sent_events:
                    self._sent_events.add(event.id)
                    yield EventNews(event)
            case NoticeUpdate(notice=JobNotice() as job) if self._is_progress(job):
                yield ProgressNews(_progress(job))
            case NoticeUpdate(notice=InvocationNotice() | JobNotice()) | StatusUpdate():
                await self._read_task()

    def _news_of_text(self, chunk: TextChunk) -> TextNews:
        event_id = chunk.stream.event_id
        is_first = chunk.offset == 0 and event_id not in self._begun
        self._begun.add(event_id)
        return TextNews(event_id, chunk.text, is_first)

    async def _is_of_task(self, event: RuntimeEvent) -> bool:
        writer = writer_of(event.invocation_id, event.custom_metadata)
        if writer not in self.task.invocation_ids:
            await self._read_task()  # The event may be of an invocation that has just continued the task.
        return writer in self.task.invocation_ids

    def _is_progress(self, job: JobNotice) -> bool:
        """Return True for a job that has reported progress in the status in which the task has it."""
        known = {str(job.pk): str(job.status) for job in self.task.jobs}
        return bool(_progress(job)) and known.get(job.id) == job.status

    async def _read_task(self) -> None:
        self.task = await load_task(self.task.invocations[0])

    def _news_of_state(self) -> Iterable[TaskNews]:
        """Yield the events that were not sent yet, then the changed state."""
        # The tables may be ahead of the feed: clients stop reading at a final state, so its events must come first.
        self._state = self.task.state
        unsent = [event for event in self.task.events if event.id not in self._sent_events]
        for event in unsent:
            self._sent_events.add(event.id)
            yield EventNews(event)
        yield StateNews()


async def wait_until_at_rest(
    task: SiteTask,
    caller: Caller,
    scope: AsgiScope,
    seconds: float,
    on_news: Callable[[TaskNews], Awaitable[None]] | None = None,
) -> SiteTask:
    """Return the task once it is at rest, or in its current state after `seconds`.

    Args:
        scope: of the caller's request.
        on_news: called with all news until then.

    Raises:
        NotFoundError: the key was revoked or the session deleted in the meantime.
    """
    if task.is_at_rest:
        return task
    feed = TaskFeed(task)
    with end_on_sign_out(caller, scope, feed.feed), suppress(TimeoutError):
        async with asyncio.timeout(seconds), aclosing(feed.news()) as news:
            async for item in news:
                if on_news:
                    await on_news(item)
    feed.refuse_if_ended()
    return feed.task


def _progress(job: JobNotice) -> str:
    """Return the progress of a job on one line; empty if the job has reported none."""
    percent = "" if job.percent is None else f"{job.percent} %"
    return " ".join(words for words in (percent, job.progress_message) if words)
