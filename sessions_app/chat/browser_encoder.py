"""Frames for the page of one tab.

Rendering an event is expensive, and all readers with the same language, time zone and details get the same HTML. Their
frames are therefore made once and shared, in one of two places:

- An event, text or notice of this process reaches all tabs as one update, which holds the frames made of it.
- An event read from PostgreSQL comes as another update to each tab. Its frame is shared by view and `seq` instead,
  while a tab still has to send it.
"""

from dataclasses import replace
from uuid import UUID
from weakref import WeakValueDictionary

from sessions_app.chat.drawn_text import draw_next, drawn_so_far
from sessions_app.chat.server_frames import EventFrame, PartialFrame, ReadyFrame, notice_frame
from sessions_app.history.rewinds import rewound_from
from sessions_app.live.notices import job_notice, schedule_notice
from sessions_app.live.updates import EventUpdate, NoticeUpdate, StatusUpdate, TextUpdate, Update
from sessions_app.models import ToolJob
from sessions_app.process.threads import fetch_rows
from sessions_app.rendering.event_html import event_html, html_now
from sessions_app.rendering.session_view import Reader, SessionView
from sessions_app.scheduling.session_tasks import tasks_of_session
from sessions_app.store.sql.event_log import SessionStatus


class _SharedFrame(str):  # A plain `str` cannot be referenced weakly.
    pass


# Weak, so a frame is freed when the last tab has sent it.
_stored: WeakValueDictionary[tuple[SessionView, int], _SharedFrame] = WeakValueDictionary()
"""Frames of stored events, while a tab has to send them."""


class BrowserEncoder:
    """Makes frames with the HTML of events, texts and cards.

    Attributes:
        view: session and reader, by which frames are shared.
    """

    def __init__(self, session_id: UUID, app_name: str, reader: Reader) -> None:
        self.view = SessionView(session_id, app_name, reader)

    def show_app(self, app_name: str) -> None:
        """Show the session as one with this app."""
        self.view = replace(self.view, app_name=app_name)

    async def frame(self, update: Update) -> str:
        """Return the frame of an update; empty for the end of the feed."""
        match update:
            case EventUpdate():
                return await self.event_frame(update)
            case TextUpdate():
                return self.text_frame(update)
            case NoticeUpdate():
                return self.notice_frame(update)
            case StatusUpdate():
                return await self.ready_frame(update.status)
        return ""

    async def ready_frame(self, status: SessionStatus) -> str:
        """Return the frame of the session's status, with its jobs and scheduled tasks."""
        self.show_app(status.app_name)
        session_id = self.view.session_id
        # Query jobs after the status; otherwise an active job could be missing.
        open_and_recent = ToolJob.objects.filter(session_id=session_id).open_and_recent()
        jobs = [job_notice(job) for job in await fetch_rows(open_and_recent)]
        schedules = [schedule_notice(task) for task in await tasks_of_session(session_id)]
        return ReadyFrame(
            session_id, status.last_seq, status.invocation, jobs, schedules, self.view.reader
        ).json()

    async def event_frame(self, update: EventUpdate) -> str:
        """Return the frame of an event. A long event is rendered in a thread."""
        if update.committed is None:
            return await self._stored_event_frame(update)
        key = (BrowserEncoder, self.view)
        frame = update.frames.get(key)
        if frame is None:
            # No await before the frame is stored: tabs that are served next find it. A long event needs a thread.
            html = html_now(self.view, update.seq, update.event, update.body)
            if html is None:
                html = await event_html(self.view, update.seq, update.event, update.body)
            frame = EventFrame(update.seq, update.body, html, update.rewound_from).json()
            update.frames[key] = frame
        return frame

    async def _stored_event_frame(self, update: EventUpdate) -> str:
        key = (self.view, update.seq)
        frame = _stored.get(key)
        if frame is None:
            # The commit knows what it undid; a stored rewind does not, and the page must remove these events.
            rewound = None
            if update.event.actions.rewind_before_invocation_id is not None:
                rewound = await rewound_from(self.view.session_id, update.seq)
            html = await event_html(self.view, update.seq, update.event, update.body)
            # Another tab may have made the frame during the awaits: use its copy, so only one is kept.
            frame = _stored.get(key) or _SharedFrame(
                EventFrame(update.seq, update.body, html, rewound).json()
            )
            _stored[key] = frame
        return frame

    def text_frame(self, update: TextUpdate) -> str:
        """Return the frame of a piece of a growing text, with the HTML that it changes.

        A reader who joins late gets the text so far as repeated pieces, and with the last of them its whole HTML.
        """
        if update.is_repeated:
            # Not shared: late readers begin at different offsets.
            is_last = update.end == update.text.published
            drawn = drawn_so_far(update.text) if is_last else None
            return PartialFrame.of_chunk(update.chunk, drawn).json()
        frame = update.frames.get(_TEXT)
        if frame is None:
            frame = PartialFrame.of_chunk(update.chunk, draw_next(update.text)).json()
            update.frames[_TEXT] = frame
        return frame

    def notice_frame(self, update: NoticeUpdate) -> str:
        key = (BrowserEncoder, self.view.reader)
        frame = update.frames.get(key)
        if frame is None:
            frame = notice_frame(update.notice, self.view.reader)
            update.frames[key] = frame
        return frame


_TEXT = (BrowserEncoder, None)
"""Key of the frames of growing texts: nothing of the reader changes them."""
