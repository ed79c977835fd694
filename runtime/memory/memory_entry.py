"""MemoryEntry: text recalled from earlier sessions (spec F3)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, field_serializer

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

    @field_serializer("content", when_used="json")
    def _without_unset_fields(self, content: types.Content) -> dict[str, Any]:
        """A model reads this: the fields that are not set would be most of it."""
        return content.model_dump(mode="json", by_alias=True, exclude_none=True)
