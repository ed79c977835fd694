"""TextSoFar: sends a browser tab the text that was streamed before the tab watched the session."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from sessions_app.chat.send_queue import SendQueue
from sessions_app.chat.streamed_blocks import RenderedBlocks, blocks_so_far
from sessions_app.live.hub import Hub
from sessions_app.live.streamed_text import StreamKey, TextChunk, utf16_length

PIECE_CHARACTERS = 16_384
"""Characters of a text in one frame; JSON may need twelve for one of them."""


class TextSoFar:
    """Sends growing texts in pieces, no faster than the browser reads: one that stalls holds no whole answer.

    Args:
        post: queues the frame of a piece for the tab. Returns False when the tab gets no more frames before it is
            greeted again.
    """

    def __init__(
        self,
        hub: Hub,
        session_id: UUID,
        send_queue: SendQueue,
        post: Callable[[TextChunk, RenderedBlocks | None], bool],
    ) -> None:
        self._hub = hub
        self._session_id = session_id
        self._send_queue = send_queue
        self._post = post
        self._sent: dict[StreamKey, tuple[int, int]] = {}
        """Characters and UTF-16 code units sent of each text that is not sent whole."""
        self.begin()

    def begin(self) -> None:
        """Send all growing texts of the session from their beginnings: a running `send` begins again."""
        self._sent = dict.fromkeys(self._hub.growing_texts(self._session_id), (0, 0))

    def is_unsent(self, stream: StreamKey) -> bool:
        """True when `send` will send the newest text of the stream, too."""
        return stream in self._sent

    async def send(self) -> None:
        """Send the texts to their ends. The HTML of finished blocks comes with the last piece of a text."""
        while self._sent:
            if self._send_queue.is_half_full:
                await self._send_queue.drained()
                continue
            stream, (start, offset) = next(iter(self._sent.items()))
            text = self._hub.growing_texts(self._session_id).get(stream)
            if text is None:  # Its event has been committed, or its invocation has ended.
                del self._sent[stream]
                continue
            chunk = text.piece(start, offset, PIECE_CHARACTERS)
            is_last = len(chunk.text) < PIECE_CHARACTERS
            if not self._post(chunk, blocks_so_far(text) if is_last else None):
                self._sent.clear()
            elif is_last:
                del self._sent[stream]
            else:
                self._sent[stream] = start + PIECE_CHARACTERS, offset + utf16_length(chunk.text)
