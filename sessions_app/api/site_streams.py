"""Streams of the site's own API: server-sent events with the news of a session, or of one run until it has ended.

The `id` of an event is its `seq`. Clients that connect again send it back as `Last-Event-ID`, so they miss no event.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from sessions_app.api.reachable import reachable_run, reachable_session
from sessions_app.api.run_stream import RunStream
from sessions_app.api.stream_server import ApiStream, StreamRequest
from sessions_app.history.event_marks import writer_of
from sessions_app.history.invocation_events import log_position_before
from sessions_app.history.public_event import public_body
from sessions_app.live.notices import CallNotice, InvocationNotice, Notice
from sessions_app.live.streamed_text import TextChunk
from sessions_app.live.updates import EndUpdate, EventUpdate, NoticeUpdate, StatusUpdate, TextUpdate, Update
from sessions_app.models import Scope
from sessions_app.store.sql.event_log import SessionStatus

COMMENT = ": \n\n"
"""A comment, ignored by clients, to keep proxies from closing a silent stream."""


@dataclass(frozen=True)
class SiteEncoder:
    """Make the frames of a session's stream or a run's stream.

    Attributes:
        run_id: run to make frames for; empty for the whole session.
    """

    run_id: str = ""
    heartbeat: ClassVar[str] = COMMENT

    def frames(self, update: Update) -> Iterator[str]:
        """Yield the frame of an update, if it belongs to the run."""
        match update:
            case EventUpdate() if self._has(
                writer_of(update.event.invocation_id, update.event.custom_metadata)
            ):
                # Neither language nor run changes the frame of an event, so all programs share it.
                key = (SiteEncoder, None)
                frame = update.frames.get(key)
                if frame is None:
                    frame = update.frames[key] = _event_frame(update)
                yield frame
            case TextUpdate() if self._has(update.chunk.stream.invocation_id):
                yield _text_frame(update.chunk)
            case NoticeUpdate() if self._has(str(update.notice.id)):
                yield _notice_frame(update.notice)
            case StatusUpdate() if not self.run_id or self.run_id in update.status.active:
                yield _status_frame(update.status)
            case EndUpdate():
                yield sse("end", reason=update.reason)

    def end_frames(self, run: InvocationNotice) -> Iterator[str]:
        """Yield the last frame, after the end of the run."""
        yield sse("end", reason="run_ended", run_id=run.id, status=run.status, error=run.error)

    def _has(self, run_id: str) -> bool:
        return not self.run_id or run_id == self.run_id


def _event_frame(update: EventUpdate) -> str:
    return f"event: event\nid: {update.seq}\ndata: {public_body(update.body)}\n\n"


def _text_frame(chunk: TextChunk) -> str:
    stream = chunk.stream
    return sse(
        "text",
        run_id=stream.invocation_id,
        event_id=stream.event_id,
        author=stream.author,
        thought=stream.thought,
        offset=chunk.offset,
        text=chunk.text,
    )


def _notice_frame(notice: Notice) -> str:
    match notice:
        case InvocationNotice():
            return sse(
                "run", run_id=notice.id, client_id=notice.client_id, status=notice.status, error=notice.error
            )
        case CallNotice():
            return sse(notice.type, **vars(notice))
        case _:
            return sse(notice.type, **notice.as_json())


def _status_frame(status: SessionStatus) -> str:
    run = None
    if status.invocation:
        run_id, run_status = status.invocation
        run = {"run_id": run_id, "status": run_status}
    return sse("status", last_seq=status.last_seq, run=run)


def sse(name: str, **fields: Any) -> str:
    """Return a server-sent event with the fields as JSON."""
    return f"event: {name}\ndata: {json.dumps(fields, default=str)}\n\n"


async def stream_session(request: StreamRequest) -> RunStream:
    """Follow a session: `status` first, then each `event` with its `seq` as `id`, `text` that grows, and news of a
    `run`, a `job`, a `schedule` or a `call`. `end` tells why the stream ends.

    A program that connects again with `Last-Event-ID` gets the events after it. Text starts again: `offset` counts
    UTF-16 code units from the beginning of the text of the event with this `event_id`.
    """
    session = await reachable_session(request.caller, request.values["session_id"], Scope.READ)
    return RunStream(session.pk, session.user_id, SiteEncoder(), after=request.last_event_id or 0)


async def stream_run(request: StreamRequest) -> RunStream:
    """Follow a run, as the stream of its session does, until it has ended; `end` has its status."""
    run = await reachable_run(request.caller, request.values["run_id"], Scope.READ)
    after = request.last_event_id
    if after is None:
        after = await log_position_before(run)
    encoder = SiteEncoder(run.invocation_id)
    return RunStream(run.session_id, run.session.user_id, encoder, after=after, run_id=run.invocation_id)


API_STREAMS = (
    ApiStream("api/v1/sessions/<uuid:session_id>/stream", stream_session, "Follow a session"),
    ApiStream("api/v1/runs/<str:run_id>/stream", stream_run, "Follow a run"),
)
