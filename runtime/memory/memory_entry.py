"""MemoryEntry: text recalled from an earlier session (contract F3)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field, field_serializer

from runtime import types


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
