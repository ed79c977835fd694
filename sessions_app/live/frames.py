"""Frames to the browser that tell what happened in a session: events, partial text, notices."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sessions_app.live.streamed_text import TextChunk

VERSION = 1


@dataclass(frozen=True)
class EventNews:
    """A committed event; `frame` is the whole websocket message, made once for all who watch."""

    seq: int
    event_id: str
    frame: str


@dataclass(frozen=True)
class Notice:
    """Something other than an event has changed: an invocation, a job, a scheduled task.

    Attributes:
        kind: the frame's type.
        fields: the frame's other fields; None is left out.
        begins_invocation: whether an invocation has begun to run, so that text will come.
        ends_invocation: the invocation whose streamed text is of no use any more.
    """

    kind: str
    fields: dict[str, Any]
    begins_invocation: bool = False
    ends_invocation: str = ""

    @property
    def id(self) -> str:
        """The invocation's or job's."""
        return str(self.fields["id"])

    @property
    def is_open(self) -> bool:
        """Whether it is queued or running."""
        return self.fields["status"] in ("queued", "running")

    def frame(self) -> str:
        """The websocket message."""
        return frame(self.kind, **self.fields)


def frame(kind: str, **fields: Any) -> str:
    """A message to the browser; fields that are None are left out."""
    given = {name: value for name, value in fields.items() if value is not None}
    return json.dumps({"v": VERSION, "type": kind, **given}, default=str)


def event_frame(seq: int, body: str, html: str, rewound_from: int | None = None) -> str:
    """A committed event; `body` is its JSON. A rewind says from which event on nothing counts any more (spec R3)."""
    rewound = "" if rewound_from is None else f',"rewound_from":{rewound_from}'
    return f'{{"v":{VERSION},"type":"event","seq":{seq},"event":{body},"html":{json.dumps(html)}{rewound}}}'


def partial_frame(chunk: TextChunk) -> str:
    """Text that has grown."""
    stream = chunk.stream
    return frame(
        "partial",
        lease=stream.lease_token,
        invocation_id=stream.invocation_id,
        event_id=stream.event_id,
        author=stream.author,
        offset=chunk.offset,
        text=chunk.text,
        thought=stream.thought or None,
    )
