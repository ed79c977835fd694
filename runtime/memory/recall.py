"""What of a session is remembered, and by which words it is found: the same for every memory service (spec F3, Q15)."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime

from runtime import types
from runtime.events.event import Event
from runtime.memory.memory_entry import MemoryEntry

_WORD = re.compile(r"[^\W_]+")


def entry_of(event: Event) -> MemoryEntry | None:
    """What is remembered of the event: the text that a person could read; None when there is none."""
    if event.content is None or not event.text().strip():
        return None
    texts = [part.text for part in event.content.parts or [] if part.text and not part.thought]
    # Databases store no NUL characters.
    parts = [types.Part(text=text.replace("\0", "\ufffd")) for text in texts]
    return MemoryEntry(
        content=types.Content(role=event.content.role, parts=parts),
        author=event.author,
        timestamp=datetime.fromtimestamp(event.timestamp, UTC).isoformat(),
    )


def words_of(text: str) -> list[str]:
    """The distinct words, in the order in which they come, alike for every way of writing them in capitals."""
    return list(dict.fromkeys(_WORD.findall(unicodedata.normalize("NFKC", text).casefold())))


def text_of(entry: MemoryEntry) -> str:
    """The text of an entry."""
    return "".join(part.text for part in entry.content.parts or [] if part.text)
