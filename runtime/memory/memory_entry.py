"""MemoryEntry: text recalled from earlier sessions (spec F3)."""

from __future__ import annotations

from pydantic import BaseModel

from runtime import types


class MemoryEntry(BaseModel):
    """One remembered content.

    Attributes:
        author: who said it.
        timestamp: when, in ISO 8601.
    """

    content: types.Content
    author: str | None = None
    timestamp: str | None = None
