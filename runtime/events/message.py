"""Contents in shorter forms, as `Event(message=…)` takes them."""

from typing import Any

from runtime import types
from runtime.errors import with_article
from runtime.models.llm_response import parts_in


def content_of(
    message: types.Content | dict[str, Any] | types.PartUnion | list[types.PartUnion],
) -> types.Content:
    """Return a content made from a content, a text, a part, or a list of texts and parts.

    Raises:
        pydantic.ValidationError: a dict is neither a content nor a part.
        ValueError: the message has another type.
    """
    if isinstance(message, types.Content):
        return message
    if isinstance(message, dict) and "parts" in message:
        return types.Content.model_validate(message)
    items = message if isinstance(message, list) else [message]
    return types.Content(parts=[part_of(item) for item in items])


def joined_text(content: types.Content | None) -> str:
    """Return the texts of a content, joined by spaces; empty without a content."""
    return " ".join(part.text for part in parts_in(content) if part.text)


def part_of(item: object) -> types.Part:
    """Return a part made from a text, a part or a file.

    Raises:
        pydantic.ValidationError: a dict is not a part.
        ValueError: the item has another type.
    """
    if isinstance(item, str):
        return types.Part(text=item)
    if isinstance(item, types.File):
        return types.Part(file_data=types.FileData(file_uri=item.uri, mime_type=item.mime_type))
    if isinstance(item, dict | types.Part):
        return types.Part.model_validate(item)
    raise ValueError(
        f"A content cannot hold {with_article(type(item).__name__)}: give text, a types.Part, a types.File or a "
        "types.Content."
    )
