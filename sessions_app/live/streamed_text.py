"""Growing text: the partial events of a future event.

Each piece has its offset from the start of the text. A receiver which has the text up to a smaller offset has lost a
piece, and a receiver with a larger offset has the piece, or a part of it, already.
"""

from dataclasses import dataclass, field
from typing import NamedTuple


def utf16_length(text: str) -> int:
    """Return the length in UTF-16 code units, as counted by JavaScript."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def text_from(text: str, units: int) -> str:
    """Return the text without its first `units` UTF-16 code units; empty when the text is not longer."""
    if not units or text.isascii():
        return text[units:]
    return text.encode("utf-16-le", "surrogatepass")[2 * units :].decode("utf-16-le", "replace")


class StreamKey(NamedTuple):
    """Identity of a growing text.

    Attributes:
        lease_token: fencing token of the invocation's lease; text of an older lease is void.
        thought: True for thoughts, False for the answer.
    """

    lease_token: int
    invocation_id: str
    event_id: str
    author: str
    thought: bool


@dataclass(frozen=True)
class TextChunk:
    """A piece of a growing text.

    Attributes:
        offset: start of the piece, in UTF-16 code units from the start of the event's text (or thoughts).
    """

    stream: StreamKey
    offset: int
    text: str


@dataclass(eq=False)
class GrowingText:
    """Text or thoughts of a future event, as far as they have been streamed.

    Attributes:
        is_local: True if this process runs the invocation, False when another process sends the text.
        length: length of the text, in UTF-16 code units.
        html_length: number of characters of HTML kept by an encoder for the text.
        pending: pieces since the last flush.
        pending_from: offset of the first pending piece.
        published: number of characters before the first pending piece.
        is_cut: True if the text took too much memory: it is no longer kept or shown until its event is committed.
    """

    stream: StreamKey
    is_local: bool
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    pending: list[str] = field(default_factory=list)
    pending_from: int = 0
    published: int = 0
    html_length: int = 0
    is_cut: bool = False

    @property
    def bytes(self) -> int:
        """Estimated memory of the text and its HTML, in bytes."""
        return 0 if self.is_cut else 2 * self.length + self.html_length

    def cut(self) -> None:
        """Drop the text so far and all that follows."""
        self.is_cut = True
        self.pieces = []
        self.pending = []

    def add(self, text: str) -> None:
        """Append a piece; it stays pending until `take_pending`."""
        if self.is_cut:
            return
        self.pieces.append(text)
        self.pending.append(text)
        self.length += utf16_length(text)

    def take_pending(self) -> TextChunk | None:
        """Return the text added since the last call; None without new text."""
        if not self.pending:
            return None
        chunk = self._chunk(self.pending_from, "".join(self.pending))
        self.pending = []
        self.published += len(chunk.text)
        self.pending_from = self.length
        return chunk

    def whole(self) -> TextChunk:
        """Return the text from its beginning; an empty chunk when the text is cut."""
        return self._chunk(0, self.text())

    def piece(self, start: int, offset: int, characters: int) -> TextChunk:
        """Return a part of the flushed text; an empty chunk when the text is cut.

        Args:
            start: number of characters before the part.
            offset: number of UTF-16 code units before the part.
            characters: maximum length of the part.
        """
        return self._chunk(offset, self.text()[start : min(start + characters, self.published)])

    def published_after(self, start: int) -> str:
        """Return the flushed text without its first `start` characters; empty when the text is cut."""
        # From the end: joining the whole text for each piece would take time that grows with the square of its length.
        pending = sum(map(len, self.pending))
        missing = self.published + pending - start
        pieces: list[str] = []
        for piece in reversed(self.pieces):
            if missing <= 0:
                break
            pieces.append(piece[-missing:])
            missing -= len(piece)
        text = "".join(reversed(pieces))
        return text[: len(text) - pending]

    def text(self) -> str:
        """Return the text from its beginning; empty when it is cut."""
        # Joined in place: appending to a list is cheap, and the next call joins only the later pieces.
        self.pieces = ["".join(self.pieces)]
        return self.pieces[0]

    def receive(self, chunk: TextChunk) -> bool:
        """Add a chunk of another process. Returns False when text before the chunk is missing."""
        if self.is_cut:
            return True
        if chunk.offset > self.length:
            return False
        # After a requested whole text, the next chunk may repeat the text's end.
        if unseen := text_from(chunk.text, self.length - chunk.offset):
            self.add(unseen)
        return True

    def _chunk(self, offset: int, text: str) -> TextChunk:
        return TextChunk(self.stream, offset, text)
