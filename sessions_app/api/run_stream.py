"""Server-sent events for one program: updates of a session, or of one run until it has ended.

A run has ended when its invocation has, but its last events may still be on their way: notices and events do not come
in one order. After the notice of the end the stream therefore asks for the session's status, takes the `seq` of the
last event, and ends once the feed has returned that event.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable
from typing import Any, Protocol
from uuid import UUID

from sessions_app.history.invocation_events import last_event_of
from sessions_app.live.notices import InvocationNotice, invocation_notice, job_notice
from sessions_app.live.session_feed import SessionFeed
from sessions_app.live.updates import EndReason, NoticeUpdate, StatusUpdate, Update
from sessions_app.models import Invocation, ToolJob
from sessions_app.process.threads import fetch_rows, in_thread
from sessions_app.store.sql.event_log import SessionStatus

HEARTBEAT_SECONDS = 15.0


class StreamEncoder(Protocol):
    """Make the frames of a stream."""

    @property
    def heartbeat(self) -> str:
        """Frame to send after `HEARTBEAT_SECONDS` of silence; empty to send none."""

    def frames(self, update: Update) -> Iterable[str]:
        """Return the frames of an update; none if the update is not for this stream."""

    def end_frames(self, run: InvocationNotice) -> Iterable[str]:
        """Return the last frames, after the end of the run."""


class FeedStream(ABC):
    """Frames of a session's feed. A subclass makes them.

    Args:
        after: `seq` of the last event that the program has.

    Attributes:
        heartbeat: frame to send after `HEARTBEAT_SECONDS` of silence; empty to send none.
        is_complete: True after the last frame.
    """

    def __init__(self, session_id: UUID, user_id: Any, heartbeat: str, *, after: int = 0) -> None:
        self.feed = SessionFeed(session_id, user_id, after=after)
        self.heartbeat = heartbeat
        self.is_complete = False

    @property
    def user_id(self) -> Any:
        """Primary key of the session's user."""
        return self.feed.user_id

    @property
    def reason(self) -> str:
        """Why the stream ended early: `signed_out` or `deleted`; empty otherwise."""
        return self.feed.reason

    def end(self, reason: EndReason) -> None:
        """End the stream after a last frame."""
        self.feed.end(reason)

    async def frames(self) -> AsyncGenerator[str]:
        """Yield the frames until the stream ends."""
        silent_since = time.monotonic()
        try:
            while not self.is_complete:
                update = await self.feed.take()
                if update is not None:
                    for frame in await self.frames_of(update):
                        silent_since = time.monotonic()
                        yield frame
                elif self.feed.has_ended:
                    return
                elif not await self.feed.wait(silent_since + HEARTBEAT_SECONDS - time.monotonic()):
                    silent_since = time.monotonic()
                    yield self.heartbeat
        finally:
            self.feed.leave()

    @abstractmethod
    async def frames_of(self, update: Update) -> list[str]:
        """Return the frames of an update; set `is_complete` with the last."""


class RunStream(FeedStream):
    """Updates of a session, or of one run until it has ended.

    Args:
        after: `seq` of the last event that the program has.
        run_id: run after whose last event the stream ends; empty to follow the session.
    """

    def __init__(
        self, session_id: UUID, user_id: Any, encoder: StreamEncoder, *, after: int = 0, run_id: str = ""
    ) -> None:
        super().__init__(session_id, user_id, encoder.heartbeat, after=after)
        self.encoder = encoder
        self._run_id = run_id
        self._outcome: InvocationNotice | None = None  # The end of the run, from its notice.
        # The end of the run, and the `seq` of its last event.
        self._end: tuple[InvocationNotice, int] | None = None

    async def frames_of(self, update: Update) -> list[str]:
        """Return the frames of an update, and the end frames after the last update of the run."""
        frames = list(self.encoder.frames(update))
        match update:
            case StatusUpdate() if self._run_id:
                self._end = await self._find_end(update.status)
            case StatusUpdate():
                jobs = ToolJob.objects.filter(session_id=self.feed.session_id).open_and_recent()
                for job in await fetch_rows(jobs):
                    frames += self.encoder.frames(NoticeUpdate(job_notice(job)))
            case NoticeUpdate(notice=InvocationNotice() as notice):
                if notice.id == self._run_id and not notice.is_active:
                    # A greeting brings a StatusUpdate with the position of the log after the end.
                    self._outcome = notice
                    self.feed.greet()
        if self._end is not None:
            run, last_seq = self._end
            if self.feed.seq >= last_seq:
                frames += self.encoder.end_frames(run)
                self.is_complete = True
        return frames

    async def _find_end(self, session_status: SessionStatus) -> tuple[InvocationNotice, int] | None:
        """Return the end of the run and the `seq` of its last event; None while the run is active."""
        if self._run_id in session_status.active:
            return None
        if self._outcome is not None:
            return self._outcome, session_status.last_seq
        # The run had ended before the stream began, so no notice comes.
        rows = Invocation.objects.without_details().defer("message")
        row = await in_thread(rows.get, invocation_id=self._run_id)
        end = invocation_notice(row.invocation_id, row.client_id, row.status, row.error_message)
        return end, await last_event_of(row)
