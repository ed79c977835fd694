"""Server frames: the frames to the browser, one dataclass for each type."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar
from uuid import UUID

from sessions_app.base.statuses import InvocationStatus, JobStatus
from sessions_app.history.public_event import public_body
from sessions_app.live.columns import row_of
from sessions_app.live.streamed_text import RenderedBlocks, TextChunk
from sessions_app.models import ScheduledTask, ToolJob
from sessions_app.rendering import render_job, render_schedule
from sessions_app.rendering.sentences import in_language
from sessions_app.rendering.session_view import SITE_READER, Reader

VERSION = 1


class ServerFrame:
    """Base of the server frames. Subclasses are dataclasses whose fields are the fields of the JSON."""

    type: ClassVar[str]

    def json(self) -> str:
        """Return the frame as JSON, without the fields that are None."""
        return _message(self.type, vars(self))


class NoticeFrame(ServerFrame):
    """Base of the frames that each process renders for its own readers."""

    def plain_fields(self) -> dict[str, Any]:
        """Return the fields without `columns`, from which the card is rendered."""
        return {name: value for name, value in vars(self).items() if name != "columns"}

    def fields_for(self, reader: Reader) -> dict[str, Any]:
        """Return the fields of the JSON in the language and the time zone of the reader."""
        return vars(self)

    def json_for(self, reader: Reader) -> str:
        """Return the frame as JSON for the reader, without the fields that are None."""
        return _message(self.type, self.fields_for(reader))


def _message(frame_type: str, values: Mapping[str, Any]) -> str:
    fields = {name: value for name, value in values.items() if value is not None}
    return json.dumps({"v": VERSION, "type": frame_type, **fields}, default=str)


@dataclass(frozen=True)
class EventFrame(ServerFrame):
    """A committed event.

    Attributes:
        body: JSON of the event, as it is stored.
        rewound_from: `seq` of the first event that a rewind undid; None for other events.
    """

    type = "event"

    seq: int
    body: str
    html: str
    rewound_from: int | None = None

    def json(self) -> str:
        """Return the frame as JSON, with the event in the form that its person may have."""
        body = public_body(self.body)
        rewound = "" if self.rewound_from is None else f',"rewound_from":{self.rewound_from}'
        return (
            f'{{"v":{VERSION},"type":"{self.type}","seq":{self.seq},"event":{body},'
            f'"html":{json.dumps(self.html)}{rewound}}}'
        )


@dataclass(frozen=True)
class PartialFrame(ServerFrame):
    """A piece of streamed text, which an event will have.

    Attributes:
        lease: fencing token of the lease that the text was streamed under.
        offset: start of the piece, in UTF-16 code units from the start of the event's text (or thoughts).
        thought: True for thoughts, None for text.
        blocks: HTML of the Markdown blocks that have ended since the last frame; None without any.
    """

    type = "partial"

    lease: int
    invocation_id: str
    event_id: str
    author: str
    offset: int
    text: str
    thought: bool | None
    blocks: dict[str, Any] | None

    @classmethod
    def of_chunk(cls, chunk: TextChunk, blocks: RenderedBlocks | None) -> PartialFrame:
        """Return the frame of a chunk."""
        stream = chunk.stream
        return cls(
            stream.lease_token,
            stream.invocation_id,
            stream.event_id,
            stream.author,
            chunk.offset,
            chunk.text,
            stream.thought or None,
            asdict(blocks) if blocks else None,
        )


@dataclass(frozen=True)
class InvocationFrame(NoticeFrame):
    """The status of an invocation."""

    type = "invocation"

    id: str
    client_id: str
    status: str
    error: str | None = None

    def fields_for(self, reader: Reader) -> dict[str, Any]:
        if not self.error:
            return vars(self)
        with reader.reading():
            return {**vars(self), "error": in_language(self.error)}

    @property
    def is_active(self) -> bool:
        """True while the invocation is queued or running."""
        return self.status in InvocationStatus.active()

    @property
    def is_running(self) -> bool:
        """True while the invocation streams text."""
        return self.status == InvocationStatus.RUNNING


@dataclass(frozen=True)
class JobFrame(NoticeFrame):
    """A job with its progress and its question.

    Attributes:
        columns: columns of the job that its card shows, by `columns_of`. The JSON has the HTML of the card instead.
    """

    type = "job"

    id: str
    call_id: str
    tool: str
    status: str
    percent: int | None
    message: str
    error: str
    question: dict[str, Any] | None
    artifacts: dict[str, int]
    columns: dict[str, Any]

    def fields_for(self, reader: Reader) -> dict[str, Any]:
        fields = self.plain_fields()
        with reader.reading():
            html = render_job(row_of(ToolJob, self.columns))
            return {**fields, "error": in_language(self.error), "html": html}

    @property
    def is_active(self) -> bool:
        """True while the job is queued or running."""
        return self.status in JobStatus.active()


@dataclass(frozen=True)
class ScheduleFrame(NoticeFrame):
    """A scheduled task.

    Attributes:
        columns: columns of the task that its card shows, by `columns_of`. The JSON has the HTML of the card instead,
            and the recurrence in words.
    """

    type = "schedule"
    is_active: ClassVar[bool] = False
    """Scheduled tasks are not counted among the active invocations and jobs of a session."""

    id: int
    status: str
    task: str
    next_at: str | None
    columns: dict[str, Any]

    def fields_for(self, reader: Reader) -> dict[str, Any]:
        fields = self.plain_fields()
        row = row_of(ScheduledTask, self.columns)
        with reader.reading():
            return {**fields, "how_often": row.how_often, "html": render_schedule(row)}


@dataclass(frozen=True)
class CallFrame(NoticeFrame):
    """The end of a call, while other calls of its step still run. One event with all responses follows.

    Attributes:
        id: id of the call.
        state: `ok`, `failed` or `declined`, as in the HTML of the event.
    """

    type = "call"
    is_active: ClassVar[bool] = False
    """Calls are not counted among the active invocations and jobs of a session."""

    id: str
    state: str
    seconds: float


Notice = InvocationFrame | JobFrame | ScheduleFrame | CallFrame
"""A change of something other than the log."""

NOTICE_TYPES: dict[str, type[Notice]] = {
    notice.type: notice for notice in (InvocationFrame, JobFrame, ScheduleFrame, CallFrame)
}


@dataclass(frozen=True)
class ReadyFrame(ServerFrame):
    """The answer to `hello`: the session's status. The events after the browser's last one follow.

    Attributes:
        reader: the reader for whom the jobs and scheduled tasks are rendered.
        invocation: id and status of the running or first queued invocation.
    """

    type = "ready"

    session: UUID
    seq: int
    invocation: tuple[str, str] | None
    jobs: Sequence[JobFrame]
    schedules: Sequence[ScheduleFrame]
    reader: Reader = SITE_READER

    def json(self) -> str:
        """Return the frame as JSON. Unlike those of other frames, fields that are None become null."""
        invocation = self.invocation and {"id": self.invocation[0], "status": self.invocation[1]}
        fields = {
            "session": str(self.session),
            "seq": self.seq,
            "invocation": invocation,
            "jobs": [job.fields_for(self.reader) for job in self.jobs],
            "schedules": [task.fields_for(self.reader) for task in self.schedules],
        }
        return json.dumps({"v": VERSION, "type": self.type, **fields}, default=str)


@dataclass(frozen=True)
class ErrorFrame(ServerFrame):
    """An error: a refused client frame, or a failure.

    Attributes:
        message: a sentence for the person.
        in_reply_to: client id of the message that was refused or failed; None for any other error.
    """

    type = "error"

    code: str
    message: str
    in_reply_to: str | None = None


@dataclass(frozen=True)
class SessionsFrame(ServerFrame):
    """The list of the person's sessions has changed: the page should read it again."""

    type = "sessions"


@dataclass(frozen=True)
class PongFrame(ServerFrame):
    """The answer to `ping`."""

    type = "pong"
