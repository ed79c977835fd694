"""TaskStream: the news of a task as updates of A2A, until the task has ended or waits for the person."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, ClassVar

from a2a.types import TaskArtifactUpdateEvent, TaskStatusUpdateEvent

from runtime.events.event import Event
from sessions_app.api.run_stream import RunStream
from sessions_app.base.codec import event_to_show
from sessions_app.contrib.a2a.conversion import artifact_update, piece_update, status_update
from sessions_app.contrib.a2a.files import ArtifactMaker
from sessions_app.contrib.a2a.tasks import SiteTask, load_task
from sessions_app.history.event_marks import writer_of
from sessions_app.live.notices import InvocationNotice, JobNotice, Notice
from sessions_app.live.streamed_text import GrowingText, TextChunk
from sessions_app.store.session_service import CommittedEvent
from sessions_app.store.sql.event_log import SessionStatus

Update = TaskStatusUpdateEvent | TaskArtifactUpdateEvent
EVENT, TEXT, NEWS = "event", "text", "news"


@dataclass(frozen=True)
class TaskEncoder:
    """Makes the frames that `TaskStream` reads: a kind with its values, as JSON."""

    heartbeat: ClassVar[str] = ""  # The SDK's server sends its own.

    def event_frame(self, committed: CommittedEvent, rewound_from: int | None) -> str:
        return _frame(EVENT, json.loads(committed.body))

    def stored_event_frame(self, seq: int, body: str, values: dict[str, Any]) -> str:
        return _frame(EVENT, values)

    def text_frame(self, text: GrowingText, chunk: TextChunk) -> str:
        stream = chunk.stream
        if stream.thought:
            return ""
        return _frame(TEXT, [stream.invocation_id, stream.event_id, chunk.offset, chunk.text])

    def notice_frame(self, notice: Notice) -> str:
        if isinstance(notice, JobNotice):
            percent = "" if notice.percent is None else f"{notice.percent} %"
            line = " ".join(word for word in (percent, notice.progress_message) if word)
            return _frame(NEWS, [notice.id, notice.status, line])
        if isinstance(notice, InvocationNotice):
            return _frame(NEWS, [notice.id, notice.status, ""])
        return ""

    def status_frame(self, session_status: SessionStatus) -> str:
        return _frame(NEWS, ["", "", ""])

    def end_frame(self, reason: str, run: InvocationNotice | None) -> str:
        return ""


class TaskStream:
    """Yields the updates of a task. Notices have no content: after one the task is read from the tables again.

    Attributes:
        task: the task as it was read last.
        stream: the stream of its session.
    """

    def __init__(self, task: SiteTask) -> None:
        self.task = task
        session = task.session
        self.stream = RunStream(session.pk, session.user_id, TaskEncoder(), after=task.last_seq)
        self._begun: set[str] = set()
        self._sent_events = {event.id for event in task.events}
        self._state = task.state

    async def updates(self) -> AsyncGenerator[Update, None]:
        """Yield the updates; the last one tells the state of the task at rest."""
        if self.task.is_at_rest:
            yield status_update(self.task)
            return
        async with aclosing(self.stream.frames()) as frames:
            async for frame in frames:
                if not frame.startswith("{"):
                    continue
                kind, values = json.loads(frame).popitem()
                async for update in self._updates_of(kind, values):
                    yield update
                if self.task.state != self._state:
                    async for update in self._updates_of_state():
                        yield update
                if self.task.is_at_rest:
                    return

    async def _updates_of(self, kind: str, values: Any) -> AsyncIterator[Update]:
        if kind == TEXT:
            invocation_id, event_id, offset, text = values
            if invocation_id in self.task.invocation_ids:
                is_first = offset == 0 and event_id not in self._begun
                self._begun.add(event_id)
                yield piece_update(self.task, event_id, text, is_first=is_first)
        elif kind == EVENT:
            async for update in self._updates_of_event(values):
                yield update
        else:
            async for update in self._updates_of_news(*values):
                yield update

    async def _updates_of_event(self, values: dict[str, Any]) -> AsyncIterator[Update]:
        event = event_to_show(values)
        writer = writer_of(event.invocation_id, event.custom_metadata)
        if writer not in self.task.invocation_ids:
            self.task = await load_task(self.task.invocations[0])
        if writer in self.task.invocation_ids and event.id not in self._sent_events:
            async for update in self._updates_of_events([event]):
                yield update

    async def _updates_of_events(self, events: Iterable[Event]) -> AsyncIterator[Update]:
        for event in events:
            self._sent_events.add(event.id)
            artifact = await ArtifactMaker(self.task).of_event(event)
            if artifact is not None:
                yield artifact_update(self.task, artifact)

    async def _updates_of_news(self, changed: str, status: str, progress: str) -> AsyncIterator[Update]:
        """Yield the progress of a job that goes on; after other news read the task again."""
        known = {str(job.pk): str(job.status) for job in self.task.jobs}
        if progress and known.get(changed) == status:
            yield status_update(self.task, progress)
        else:
            self.task = await load_task(self.task.invocations[0])

    async def _updates_of_state(self) -> AsyncIterator[Update]:
        """Yield the events that were not sent yet, then the changed state."""
        self._state = self.task.state
        async for update in self._updates_of_events(
            event for event in self.task.events if event.id not in self._sent_events
        ):
            yield update
        yield status_update(self.task)


def _frame(kind: str, values: Any) -> str:
    return json.dumps({kind: values})
