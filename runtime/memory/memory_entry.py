"""MemoryEntry: text recalled from an earlier session, and its words for a search (contract F3, Q15)."""

import re
import unicodedata
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, Field, field_serializer

from runtime import types
from runtime.events.event import Event

_WORD = re.compile(r"[^\W_]+")


class MemoryEntry(BaseModel):
    """A content of an earlier session.

    Attributes:
        id: id of the event with the content.
        timestamp: time of the event, in ISO 8601.
        custom_metadata: data of the memory service; the runtime's services set none.
    """

    content: types.Content
    id: str | None = None
    author: str | None = None
    timestamp: str | None = None
    custom_metadata: dict[str, Any] = Field(default_factory=dict)

    @field_serializer("content", when_used="json")
    def _without_unset_fields(self, content: types.Content) -> dict[str, Any]:
        # A model reads this JSON, and most fields of a part are unset.
        return content.model_dump(mode="json", by_alias=True, exclude_none=True)


def memory_entry_of(event: Event) -> MemoryEntry | None:
    """Return the event's visible text as a memory entry; None if the event has no text."""
    if event.content is None or not event.text().strip():
        return None
    texts = [part.text for part in event.content.parts or [] if part.text and not part.thought]
    # Databases store no NUL characters.
    parts = [types.Part(text=text.replace("\0", "\ufffd")) for text in texts]
    return MemoryEntry(
        content=types.Content(role=event.content.role, parts=parts),
        id=event.id,
        author=event.author,
        timestamp=datetime.fromtimestamp(event.timestamp, UTC).isoformat(),
    )


def distinct_words(text: str) -> list[str]:
    """Return the distinct words of the text, in order."""
    # NFKC and casefold: full-width letters, ligatures and capitals must match their plain forms.
    return list(dict.fromkeys(_WORD.findall(unicodedata.normalize("NFKC", text).casefold())))


def entry_text(entry: MemoryEntry) -> str:
    """Return the joined text parts of the entry."""
    return "".join(part.text for part in entry.content.parts or [] if part.text)
