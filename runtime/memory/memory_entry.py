"""MemoryEntry: text recalled from an earlier session (contract F3)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, field_serializer

from runtime import types


class MemoryEntry(BaseModel):
    """One content of an earlier session.

    Attributes:
        author: the author of the event that held the content.
        timestamp: time of that event, in ISO 8601.
    """

    content: types.Content
    author: str | None = None
    timestamp: str | None = None

    @field_serializer("content", when_used="json")
    def _without_unset_fields(self, content: types.Content) -> dict[str, Any]:
        """Leave out unset fields: a model reads this JSON, and most fields of a part are unset."""
        return content.model_dump(mode="json", by_alias=True, exclude_none=True)
