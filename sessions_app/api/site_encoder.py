"""SiteEncoder: server-sent events of the site's own API.

The `id` of an event is its `seq`. A program that connects again sends it back as `Last-Event-ID`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from sessions_app.history.event_marks import writer_of
from sessions_app.history.public_event import public_body
from sessions_app.live.notices import CallNotice, InvocationNotice, Notice
from sessions_app.live.streamed_text import GrowingText, TextChunk
from sessions_app.store.session_service import CommittedEvent
from sessions_app.store.sql.event_log import SessionStatus

COMMENT = ": \n\n"
"""A server-sent event without meaning, by which proxies and programs know that the stream is alive."""


@dataclass(frozen=True)
class SiteEncoder:
    """Makes the frames of a session's stream, or of a run's stream.

    Attributes:
        run_id: the run whose frames are made; empty for the whole session.
    """

    run_id: str = ""
    heartbeat: ClassVar[str] = COMMENT

    def event_frame(self, committed: CommittedEvent, rewound_from: int | None) -> str:
        event = committed.event
        return self._event(
            committed.seq, committed.body, writer_of(event.invocation_id, event.custom_metadata)
        )

    def stored_event_frame(self, seq: int, body: str, values: dict[str, Any]) -> str:
        return self._event(seq, body, writer_of(values.get("invocationId"), values.get("customMetadata")))

    def _event(self, seq: int, body: str, writer: str) -> str:
        if self.run_id and writer != self.run_id:
            return ""
        return f"event: event\nid: {seq}\ndata: {public_body(body)}\n\n"

    def text_frame(self, text: GrowingText, chunk: TextChunk) -> str:
        stream = chunk.stream
        if self.run_id and stream.invocation_id != self.run_id:
            return ""
        return sse(
            "text",
            run_id=stream.invocation_id,
            event_id=stream.event_id,
            author=stream.author,
            thought=stream.thought,
            offset=chunk.offset,
            text=chunk.text,
        )

    def notice_frame(self, notice: Notice) -> str:
        if self.run_id and notice.id != self.run_id:
            return ""
        if isinstance(notice, InvocationNotice):
            return sse(
                "run", run_id=notice.id, client_id=notice.client_id, status=notice.status, error=notice.error
            )
        fields = vars(notice) if isinstance(notice, CallNotice) else notice.as_json()
        return sse(notice.type, **fields)

    def status_frame(self, session_status: SessionStatus) -> str:
        if self.run_id and self.run_id not in session_status.active:
            return ""
        run = session_status.invocation
        active = {"run_id": run[0], "status": run[1]} if run else None
        return sse("status", last_seq=session_status.last_seq, run=active)

    def end_frame(self, reason: str, run: InvocationNotice | None) -> str:
        if run is None:
            return sse("end", reason=reason)
        return sse("end", reason=reason, run_id=run.id, status=run.status, error=run.error)


def sse(name: str, **fields: Any) -> str:
    """Return a server-sent event with the fields as JSON."""
    return f"event: {name}\ndata: {json.dumps(fields, default=str)}\n\n"
