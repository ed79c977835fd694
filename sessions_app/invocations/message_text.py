"""Text of a message: its check before it is stored."""

from __future__ import annotations

from runtime.valid_text import storable
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError, TooLargeError


def validated_text(text: str, *, has_files: bool) -> str:
    """Return the text to store; empty for a message with files only.

    Raises:
        InvalidInputError: the message is empty.
        TooLargeError: the message is too long.
    """
    if not text.strip() and not has_files:
        raise InvalidInputError("The message is empty. Write something first.", field="text")
    if len(text) > conf().message_limit:
        raise TooLargeError(
            f"The message has {len(text)} characters; the limit is {conf().message_limit}. Send it in parts.",
            field="text",
        )
    return storable(text) if text.strip() else ""
