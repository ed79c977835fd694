"""Frames to the browser. `protocol.py` has the frames that the browser sends."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar
from uuid import UUID

from sessions_app.chat.drawn_text import DrawnText
from sessions_app.history.public_event import public_body
from sessions_app.live.notices import CallNotice, InvocationNotice, JobNotice, Notice, ScheduleNotice
from sessions_app.live.streamed_text import TextChunk
from sessions_app.rendering.html import render_job, render_schedule
from sessions_app.rendering.sentences import in_language
from sessions_app.rendering.session_view import SITE_READER, Reader

VERSION = 1


class ServerFrame:
    """Base of the frames: the fields of a subclass, a dataclass, are the fields of the JSON."""

    type: ClassVar[str]

    def json(self) -> str:
        """Return the frame as JSON, without the fields that are None."""
        return _message(self.type, vars(self))


def _message(frame_type: str, values: Mapping[str, Any]) -> str:
    fields = {name: value for name, value in values.items() if value is not None}
    return json.dumps({"v": VERSION, "type": frame_type, **fields}, default=str)


@dataclass(frozen=True)
class EventFrame(ServerFrame):
    """A committed event.

    Attributes:
        body: JSON of the event, as it is stored.
        rewound_from: for a rewind, the `seq` of the first event it undid; else None.
    """

    type = "event"

    seq: int
    body: str
    html: str
    rewound_from: int | None = None

    def json(self) -> str:
        """Return the frame as JSON, with the parts of the event that its user may see."""
        # Assembled as text: parsing and dumping the stored JSON again would take long for a large event.
        body = public_body(self.body)
        rewound = "" if self.rewound_from is None else f',"rewound_from":{self.rewound_from}'
        return (
            f'{{"v":{VERSION},"type":"{self.type}","seq":{self.seq},"event":{body},'
            f'"html":{json.dumps(self.html)}{rewound}}}'
        )


@dataclass(frozen=True)
class PartialFrame(ServerFrame):
    """A piece of text of an uncommitted event.

    Attributes:
        lease: fencing token of the lease under which the text is streamed. Text under a higher token replaces it.
        offset: start of the piece in the event's text or thoughts, in UTF-16 code units (as JavaScript counts).
        thought: True for thoughts, None for text.
        drawn: HTML of the text, see `DrawnText`; None if the page need only append the piece.
    """

    type = "partial"

    lease: int
    invocation_id: str
    event_id: str
    author: str
    offset: int
    text: str
    thought: bool | None
    drawn: dict[str, Any] | None

    @classmethod
    def of_chunk(cls, chunk: TextChunk, drawn: DrawnText | None) -> "PartialFrame":
        stream = chunk.stream
        return cls(
            stream.lease_token,
            stream.invocation_id,
            stream.event_id,
            stream.author,
            chunk.offset,
            chunk.text,
            stream.thought or None,
            asdict(drawn) if drawn else None,
        )


def notice_fields(notice: Notice, reader: Reader) -> dict[str, Any]:
    """Return the fields of a notice's frame, with cards and sentences in the language and time zone of the reader."""
    match notice:
        case InvocationNotice():
            fields = vars(notice)
            if notice.error:
                with reader.reading():
                    return {**fields, "error": in_language(notice.error)}
            return fields
        case JobNotice():
            with reader.reading():
                return {**notice.as_json(), "error": in_language(notice.error), "html": render_job(notice)}
        case ScheduleNotice():
            with reader.reading():
                return {**notice.as_json(), "how_often": notice.how_often, "html": render_schedule(notice)}
        case CallNotice():
            return vars(notice)


def notice_frame(notice: Notice, reader: Reader) -> str:
    """Return the frame of a notice as JSON, without the fields that are None."""
    return _message(notice.type, notice_fields(notice, reader))


@dataclass(frozen=True)
class ReadyFrame(ServerFrame):
    """The answer to `hello`: the session's status. The events that the browser lacks follow.

    Attributes:
        reader: the reader for whom the jobs and scheduled tasks are rendered.
        invocation: id and status of the running or first queued invocation.
    """

    type = "ready"

    session: UUID
    seq: int
    invocation: tuple[str, str] | None
    jobs: Sequence[JobNotice]
    schedules: Sequence[ScheduleNotice]
    reader: Reader = SITE_READER

    def json(self) -> str:
        """Return the frame as JSON. Unlike in other frames, fields that are None become null."""
        invocation = self.invocation and {"id": self.invocation[0], "status": self.invocation[1]}
        fields = {
            "session": str(self.session),
            "seq": self.seq,
            "invocation": invocation,
            "jobs": [notice_fields(job, self.reader) for job in self.jobs],
            "schedules": [notice_fields(task, self.reader) for task in self.schedules],
        }
        return json.dumps({"v": VERSION, "type": self.type, **fields}, default=str)


@dataclass(frozen=True)
class ErrorFrame(ServerFrame):
    """An error: a refused client frame, or a failure.

    Attributes:
        message: a sentence for the person.
        in_reply_to: client id of the refused or failed message; None for other errors.
    """

    type = "error"

    code: str
    message: str
    in_reply_to: str | None = None


@dataclass(frozen=True)
class ReadyForListFrame(ServerFrame):
    """The answer to `hello` on a connection without a session."""

    type = "ready"


@dataclass(frozen=True)
class SessionsFrame(ServerFrame):
    """The list of the person's sessions has changed, and the activity in them: the page should read them again."""

    type = "sessions"


@dataclass(frozen=True)
class ActivityFrame(ServerFrame):
    """The activity in the person's sessions has changed, and their list has not."""

    type = "activity"


@dataclass(frozen=True)
class PongFrame(ServerFrame):
    """The answer to `ping`."""

    type = "pong"
