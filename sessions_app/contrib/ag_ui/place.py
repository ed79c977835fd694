"""Place in a stream: the id of its events, sent back as `Last-Event-ID` by a client that connects again.

    12.3~e-7f3a.t.140.2774.5~e-7f3b.r.12.991.5

All frames of the events before the 12th are sent, and three frames of the 12th. Two texts were open before the 12th: of
the text of `e-7f3a` 140 UTF-16 units are sent, whose checksum is 2774, written under the lease 5; `r` is reasoning. `!`
tells that a text was withdrawn and the messages must be sent again, `^` that the frames before the first event are
being sent. `end` stands after the last frame of a run.
"""

import re
import zlib
from dataclasses import dataclass, field
from typing import NamedTuple

from sessions_app.live.streamed_text import StreamKey, text_from, utf16_length

END = "end"
OPENING = "^"
STALE = "!"
MAX_LENGTH = 4_000
_PLACE = re.compile(r"(\d{1,18})\.(\d{1,6})((?:~[^~\s]+)*)", re.ASCII)
_TEXT = re.compile(r"([^~\s]{1,100})\.([tr])\.(\d{1,9})\.(\d{1,10})\.(\d{1,18})", re.ASCII)


class TextId(NamedTuple):
    """The text of an event, or its thoughts."""

    event_id: str
    is_reasoning: bool


@dataclass
class OpenText:
    """A text of which a part is sent.

    Attributes:
        length: length of the part in UTF-16 code units.
        checksum: CRC-32 of the part.
    """

    lease_token: int
    length: int = 0
    checksum: int = 0

    def add(self, offset: int, text: str) -> str:
        """Note a piece of the text as sent. Return what the client lacks of it."""
        unsent = text_from(text, max(self.length - offset, 0))
        self.length += utf16_length(unsent)
        self.checksum = zlib.crc32(unsent.encode(), self.checksum)
        return unsent

    def rest_of(self, whole: str) -> str | None:
        """Return what the client lacks of the committed text; None if the text does not begin with the sent part."""
        rest = text_from(whole, self.length)
        sent = whole[: len(whole) - len(rest)]
        return rest if zlib.crc32(sent.encode()) == self.checksum else None


@dataclass
class Place:
    """Place in a stream.

    Attributes:
        seq: event of the log whose frames are being sent; those before it are sent.
        count: number of sent frames of the event.
        texts: open texts.
        is_opening: True until the frames before the first event are sent; `count` counts them.
        is_stale: True while the client has a message that the log will never have.
        has_ended: True after the last frame.
    """

    seq: int
    count: int = 0
    texts: dict[TextId, OpenText] = field(default_factory=dict)
    is_opening: bool = False
    is_stale: bool = False
    has_ended: bool = False

    def __str__(self) -> str:
        marks = [f"{self.seq}.{self.count}"]
        flags = ((self.is_opening, OPENING), (self.is_stale, STALE), (self.has_ended, END))
        marks += [mark for is_set, mark in flags if is_set]
        for (event_id, is_reasoning), text in self.texts.items():
            kind = "r" if is_reasoning else "t"
            marks.append(f"{event_id}.{kind}.{text.length}.{text.checksum}.{text.lease_token}")
        return "~".join(marks)

    @classmethod
    def parse(cls, written: str) -> "Place | None":
        """Return the place of an id; None for a text that is none."""
        found = _PLACE.fullmatch(written) if len(written) <= MAX_LENGTH else None
        if found is None:
            return None
        marks = found[3].split("~")[1:]
        place = cls(
            int(found[1]),
            int(found[2]),
            is_opening=OPENING in marks,
            is_stale=STALE in marks,
            has_ended=END in marks,
        )
        for mark in marks:
            if mark in (END, OPENING, STALE):
                continue
            text = _TEXT.fullmatch(mark)
            if text is None:
                return None
            opened = OpenText(int(text[5]), int(text[3]), int(text[4]))
            place.texts[TextId(text[1], text[2] == "r")] = opened
        return place


def text_id(stream: StreamKey) -> TextId:
    return TextId(stream.event_id, stream.thought)
