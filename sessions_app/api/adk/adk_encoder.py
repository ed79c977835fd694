"""AdkEncoder: server-sent events as google-adk's server sends them; `id`, which its clients ignore, is the `seq`."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from sessions_app.api.site_encoder import COMMENT
from sessions_app.base.statuses import InvocationStatus
from sessions_app.history.event_marks import writer_of
from sessions_app.history.public_event import public_body
from sessions_app.live.notices import InvocationNotice, Notice
from sessions_app.live.streamed_text import GrowingText, StreamKey, TextChunk
from sessions_app.store.session_service import CommittedEvent
from sessions_app.store.sql.event_log import SessionStatus

REASONS = {
    "signed_out": "The sign-in or the key has ended. The run goes on.",
    "deleted": "The session was deleted.",
}


@dataclass(frozen=True)
class AdkEncoder:
    """Makes the frames of a run: the events that a Runner yields, without the message and summaries.

    Attributes:
        streams_text: True to send partial events, each with the next piece of a text.
        splits_artifacts: True to send files and content of an event in a frame each, as adk-web shows them.
    """

    run_id: str
    streams_text: bool
    splits_artifacts: bool
    heartbeat: ClassVar[str] = COMMENT

    def event_frame(self, committed: CommittedEvent, rewound_from: int | None) -> str:
        event, actions = committed.event, committed.event.actions
        if not self._has(event.author, event.invocation_id, event.custom_metadata) or actions.compaction:
            return ""
        return self._event(committed.seq, committed.body, has_files=bool(actions.artifact_delta))

    def stored_event_frame(self, seq: int, body: str, values: dict[str, Any]) -> str:
        names = values.get("author"), values.get("invocationId"), values.get("customMetadata")
        actions = values.get("actions") or {}
        if not self._has(*names) or actions.get("compaction"):
            return ""
        return self._event(seq, body, has_files=bool(actions.get("artifactDelta")))

    def text_frame(self, text: GrowingText, chunk: TextChunk) -> str:
        if not self.streams_text or chunk.stream.invocation_id != self.run_id:
            return ""
        return f'data: {_partial_start(chunk.stream)}{json.dumps(chunk.text)}}}]}},"timestamp":{time.time()}}}\n\n'

    def notice_frame(self, notice: Notice) -> str:
        return ""

    def status_frame(self, session_status: SessionStatus) -> str:
        return ""

    def end_frame(self, reason: str, run: InvocationNotice | None) -> str:
        if run is None:
            return error_frame(REASONS[reason])
        return error_frame(run.error or "The run failed.") if run.status == InvocationStatus.FAILED else ""

    def _has(self, author: str | None, invocation_id: str | None, metadata: Mapping[str, Any] | None) -> bool:
        return author != "user" and writer_of(invocation_id, metadata) == self.run_id

    def _event(self, seq: int, body: str, *, has_files: bool) -> str:
        body = public_body(body)
        if has_files and self.splits_artifacts:
            values = json.loads(body)
            if (values.get("content") or {}).get("parts"):
                content = {**values, "actions": {**values["actions"], "artifactDelta": {}}}
                values.pop("content")
                return f"data: {json.dumps(content)}\n\nid: {seq}\ndata: {json.dumps(values)}\n\n"
        return f"id: {seq}\ndata: {body}\n\n"


@dataclass(frozen=True)
class AdkListEncoder(AdkEncoder):
    """Makes the elements of the list of a run's events."""

    heartbeat: ClassVar[str] = ""

    def end_frame(self, reason: str, run: InvocationNotice | None) -> str:
        return ""

    def _event(self, seq: int, body: str, *, has_files: bool) -> str:
        return public_body(body)


def error_frame(message: str) -> str:
    """Return the frame that tells why a run did not succeed."""
    return f"data: {json.dumps({'error': message})}\n\n"


@lru_cache(maxsize=512)
def _partial_start(stream: StreamKey) -> str:
    """Return the JSON of a partial event up to its text. Cached, because a text grows by many pieces."""
    names = {"id": stream.event_id, "author": stream.author, "invocationId": stream.invocation_id}
    actions: dict[str, Any] = {name: {} for name in ("stateDelta", "artifactDelta", "requestedAuthConfigs")}
    start = json.dumps({**names, "partial": True, "actions": {**actions, "requestedToolConfirmations": {}}})
    thought = '"thought":true,' if stream.thought else ""
    return f'{start[:-1]},"content":{{"role":"model","parts":[{{{thought}"text":'
