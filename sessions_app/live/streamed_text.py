"""Text that grows: the partial events of one event to be, with offsets that make losses and repeats visible."""

from __future__ import annotations

from dataclasses import dataclass, field


def utf16_length(text: str) -> int:
    """The length as JavaScript counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


@dataclass(frozen=True)
class StreamKey:
    """What an agent is saying.

    Attributes:
        lease_token: of the lease under which it speaks; text of an older lease of the session is void.
        event_id: of the event that the text will become.
        thought: whether it thinks aloud; else it answers.
    """

    lease_token: int
    invocation_id: str
    event_id: str
    author: str
    thought: bool


@dataclass(frozen=True)
class TextChunk:
    """A piece of streamed text.

    Attributes:
        offset: start of the piece, in UTF-16 code units from the start of the event's text (or thoughts).
    """

    stream: StreamKey
    offset: int
    text: str


@dataclass
class GrowingText:
    """The text of one event to be, or its thoughts, so far.

    Attributes:
        is_from_here: whether this process hears it from the model; else another tells it.
    """

    stream: StreamKey
    is_from_here: bool
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    pending: list[str] = field(default_factory=list)
    pending_from: int = 0

    def add(self, text: str) -> None:
        """Append a piece; it is pending until it is taken."""
        self.pieces.append(text)
        self.pending.append(text)
        self.length += utf16_length(text)

    def take_pending(self) -> TextChunk | None:
        """What was added since it was last taken."""
        if not self.pending:
            return None
        chunk = self._chunk(self.pending_from, "".join(self.pending))
        self.pending = []
        self.pending_from = self.length
        return chunk

    def whole(self) -> TextChunk:
        """All of it, for someone who joins now."""
        self.pieces = ["".join(self.pieces)]
        return self._chunk(0, self.pieces[0])

    def receive(self, chunk: TextChunk) -> bool:
        """Take in a chunk from another process. False when what comes before it is missing."""
        if chunk.offset > self.length:
            return False
        if chunk.offset == self.length:
            self.add(chunk.text)
        elif chunk.offset == 0 and utf16_length(chunk.text) > self.length:
            known = "".join(self.pieces)
            self.add(chunk.text[len(known) :])
        return True

    def _chunk(self, offset: int, text: str) -> TextChunk:
        return TextChunk(self.stream, offset, text)
