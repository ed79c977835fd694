"""Updates: the news of a session as typed data, which the hub shares between all readers in this process."""

import json
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from runtime.events import Event as RuntimeEvent
from sessions_app.base.codec import event_to_show
from sessions_app.live.notices import Notice
from sessions_app.live.streamed_text import GrowingText, TextChunk
from sessions_app.store.session_service import CommittedEvent
from sessions_app.store.sql.event_log import SessionStatus

NOTICE_SIZE = 500
"""Size of a notice in a buffer, in characters: about the length of its JSON."""


@dataclass(eq=False)
class _Update:
    """Base of the updates that readers share.

    Attributes:
        frames: encoded frames, by the class of the encoder and all that changes its frame. Readers with the same
            encoder, language, time zone and details so share a frame.
    """

    frames: dict[tuple[type, Hashable], str] = field(default_factory=dict, init=False, repr=False)


@dataclass(eq=False)
class EventUpdate(_Update):
    """A committed event.

    Attributes:
        body: JSON of the event, as it is stored.
        committed: the commit in this process; None for an event read from PostgreSQL.
        rewound_from: `seq` of the first event undone by the commit; None without a rewind, and for stored events.
    """

    seq: int
    body: str
    committed: CommittedEvent | None = None
    rewound_from: int | None = None

    @cached_property
    def event(self) -> RuntimeEvent:
        """The event itself, parsed once for all readers."""
        # A commit of this process has the object; an event read from PostgreSQL may be of an older version.
        if self.committed:
            return self.committed.event
        return event_to_show(json.loads(self.body))

    @property
    def size(self) -> int:
        """Number of characters that the update counts for in a buffer."""
        return len(self.body)


@dataclass(eq=False)
class TextUpdate(_Update):
    """A piece of a growing text.

    Attributes:
        end: number of characters of the text up to the end of the piece.
        is_repeated: True for a piece sent to other readers before.
    """

    text: GrowingText
    chunk: TextChunk
    end: int
    is_repeated: bool = False

    @property
    def size(self) -> int:
        """Number of characters that the update counts for in a buffer."""
        return len(self.chunk.text)


@dataclass(eq=False)
class NoticeUpdate(_Update):
    """A change of an invocation, a job, a scheduled task or a call."""

    notice: Notice
    size = NOTICE_SIZE


@dataclass(frozen=True)
class StatusUpdate:
    """The status of the session: the first update of a feed, and a replacement for missed notices."""

    status: SessionStatus


EndReason = Literal["deleted", "signed_out"]


@dataclass(frozen=True)
class EndUpdate:
    """The early end of a feed: the session was deleted, or the reader's sign-in or key has ended."""

    reason: EndReason


Update = EventUpdate | TextUpdate | NoticeUpdate | StatusUpdate | EndUpdate
