"""Server-sent events in the form of google-adk's server.

Each `data` is an event, as a Runner would yield it: without the user's message and without summaries. The `id` is the
`seq`; google-adk's clients ignore it, others may connect again with it.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from runtime.events import Event as RuntimeEvent
from sessions_app.api.site_streams import COMMENT
from sessions_app.base.statuses import InvocationStatus
from sessions_app.history.event_marks import writer_of
from sessions_app.history.public_event import public_body
from sessions_app.live.notices import InvocationNotice
from sessions_app.live.streamed_text import StreamKey
from sessions_app.live.updates import EndUpdate, EventUpdate, TextUpdate, Update

REASONS = {
    "signed_out": "The sign-in or the key has ended. The run goes on.",
    "deleted": "The session was deleted.",
}


@dataclass(frozen=True)
class AdkEncoder:
    """Make the frames of a run.

    Attributes:
        streams_text: True to send partial events, each with the next piece of a text.
        splits_artifacts: True to send files and content of an event in separate frames, as adk-web expects them.
    """

    run_id: str
    streams_text: bool
    splits_artifacts: bool
    heartbeat: ClassVar[str] = COMMENT

    def frames(self, update: Update) -> Iterator[str]:
        """Yield the frames of an update of the run."""
        match update:
            case EventUpdate() if self._has(update.event):
                # The three fields of the encoder, by which it is compared, are all that changes the frame.
                key = (type(self), self)
                frame = update.frames.get(key)
                if frame is None:
                    frame = update.frames[key] = self._event(update)
                yield frame
            case TextUpdate() if self.streams_text and update.chunk.stream.invocation_id == self.run_id:
                text = json.dumps(update.chunk.text)
                yield f'data: {_partial_start(update.chunk.stream)}{text}}}]}},"timestamp":{time.time()}}}\n\n'
            case EndUpdate():
                yield from self._refusal(REASONS[update.reason])

    def end_frames(self, run: InvocationNotice) -> Iterator[str]:
        """Yield an error if the run has failed."""
        if run.status == InvocationStatus.FAILED:
            yield from self._refusal(run.error or "The run failed.")

    def _refusal(self, message: str) -> Iterator[str]:
        yield error_frame(message)

    def _has(self, event: RuntimeEvent) -> bool:
        """True for events that a Runner yields: all except messages and summaries."""
        is_of_run = writer_of(event.invocation_id, event.custom_metadata) == self.run_id
        return is_of_run and event.author != "user" and not event.actions.compaction

    def _event(self, update: EventUpdate) -> str:
        body = public_body(update.body)
        if update.event.actions.artifact_delta and self.splits_artifacts:
            values = json.loads(body)
            if (values.get("content") or {}).get("parts"):
                content = {**values, "actions": {**values["actions"], "artifactDelta": {}}}
                values.pop("content")
                return f"data: {json.dumps(content)}\n\nid: {update.seq}\ndata: {json.dumps(values)}\n\n"
        return f"id: {update.seq}\ndata: {body}\n\n"


@dataclass(frozen=True)
class AdkListEncoder(AdkEncoder):
    """Make the elements of the list of a run's events."""

    heartbeat: ClassVar[str] = ""  # A list cannot hold comments; `/run` sends it as a whole at the end.

    def _refusal(self, message: str) -> Iterator[str]:
        yield from ()

    def _event(self, update: EventUpdate) -> str:
        return public_body(update.body)


def error_frame(message: str) -> str:
    """Return a frame with the error of a run."""
    return f"data: {json.dumps({'error': message})}\n\n"


@lru_cache(maxsize=512)
def _partial_start(stream: StreamKey) -> str:
    """Return the JSON of a partial event up to its text."""
    # Cached: only the text and the time differ between the many pieces of an event.
    names = {"id": stream.event_id, "author": stream.author, "invocationId": stream.invocation_id}
    actions: dict[str, Any] = {name: {} for name in ("stateDelta", "artifactDelta", "requestedAuthConfigs")}
    start = json.dumps({**names, "partial": True, "actions": {**actions, "requestedToolConfirmations": {}}})
    thought = '"thought":true,' if stream.thought else ""
    return f'{start[:-1]},"content":{{"role":"model","parts":[{{{thought}"text":'
