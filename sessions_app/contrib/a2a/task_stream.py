"""Updates of a task for A2A, until the task has ended or waits for the user.

The feed of the session brings texts, events and notices. Texts and events are sent on as artifacts. A notice is only
a hint that the state may have changed: the task is read from the tables again, and an update is sent if the state
differs. The state of the tables is what other requests see, so a stream cannot contradict them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable

from a2a.types import TaskArtifactUpdateEvent, TaskStatusUpdateEvent

from runtime.events.event import Event
from sessions_app.contrib.a2a.conversion import artifact_update, piece_update, status_update
from sessions_app.contrib.a2a.files import ArtifactMaker
from sessions_app.contrib.a2a.tasks import SiteTask, load_task
from sessions_app.history.event_marks import writer_of
from sessions_app.live.notices import InvocationNotice, JobNotice
from sessions_app.live.session_feed import SessionFeed
from sessions_app.live.streamed_text import TextChunk
from sessions_app.live.updates import EventUpdate, NoticeUpdate, StatusUpdate, TextUpdate, Update

TaskUpdate = TaskStatusUpdateEvent | TaskArtifactUpdateEvent


class TaskStream:
    """Yield the updates of a task.

    Attributes:
        task: the task as last read.
    """

    def __init__(self, task: SiteTask) -> None:
        self.task = task
        self.feed = SessionFeed(task.session.pk, task.session.user_id, after=task.last_seq)
        self._begun: set[str] = set()
        self._sent_events = {event.id for event in task.events}
        self._state = task.state

    async def updates(self) -> AsyncGenerator[TaskUpdate, None]:
        """Yield the updates. The last update has the state of the task at rest."""
        if self.task.is_at_rest:
            yield status_update(self.task)
            return
        try:
            async for news in self.feed:
                async for update in self._updates_of(news):
                    yield update
                if self.task.state != self._state:
                    async for update in self._updates_of_state():
                        yield update
                if self.task.is_at_rest:
                    return
        finally:
            self.feed.leave()

    async def _updates_of(self, news: Update) -> AsyncIterator[TaskUpdate]:
        match news:
            case TextUpdate(chunk=chunk):
                if not chunk.stream.thought and chunk.stream.invocation_id in self.task.invocation_ids:
                    yield self._update_of_text(chunk)
            case EventUpdate(event=event):
                if await self._is_of_task(event) and event.id not in self._sent_events:
                    async for update in self._updates_of_events([event]):
                        yield update
            case NoticeUpdate(notice=JobNotice() as job) if self._is_progress(job):
                yield status_update(self.task, _progress(job))
            case NoticeUpdate(notice=InvocationNotice() | JobNotice()) | StatusUpdate():
                await self._read_task()

    def _update_of_text(self, chunk: TextChunk) -> TaskUpdate:
        # `append` is false for the first piece only: clients would drop the text before any other such piece.
        event_id = chunk.stream.event_id
        is_first = chunk.offset == 0 and event_id not in self._begun
        self._begun.add(event_id)
        return piece_update(self.task, event_id, chunk.text, is_first=is_first)

    async def _is_of_task(self, event: Event) -> bool:
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

    async def _updates_of_state(self) -> AsyncIterator[TaskUpdate]:
        """Yield the events that were not sent yet, then the changed state."""
        # The tables may be ahead of the feed: clients stop reading at a final state, so its events must come first.
        self._state = self.task.state
        unsent = [event for event in self.task.events if event.id not in self._sent_events]
        async for update in self._updates_of_events(unsent):
            yield update
        yield status_update(self.task)

    async def _updates_of_events(self, events: Iterable[Event]) -> AsyncIterator[TaskUpdate]:
        for event in events:
            self._sent_events.add(event.id)
            artifact = await ArtifactMaker(self.task).of_event(event)
            if artifact is not None:
                yield artifact_update(self.task, artifact)


def _progress(job: JobNotice) -> str:
    """Return the progress of a job on one line; empty if the job has reported none."""
    percent = "" if job.percent is None else f"{job.percent} %"
    return " ".join(words for words in (percent, job.progress_message) if words)
