"""Contents as providers require them."""

from __future__ import annotations

from runtime import types
from runtime.errors import ModelError

_START = "Do what the system instruction says."
_CONTINUE = "Go on as instructed. If nothing is left to do, sum up what was done."

# Claude's signatures begin with these, so that thoughts are sent back to the model that signed them only.
SIGNED_BY_CLAUDE = b"claude:"
REDACTED_BY_CLAUDE = b"claude-redacted:"


def without_thoughts_of_claude(contents: list[types.Content]) -> list[types.Content]:
    """Return the contents for a model that refuses foreign signatures; the same objects where nothing changes."""
    kept = []
    for content in contents:
        parts = [part for part in content.parts or [] if not _is_signed_by_claude(part)]
        if len(parts) == len(content.parts or []):
            kept.append(content)
        elif parts:
            kept.append(content.model_copy(update={"parts": parts}))
    return kept


def insert_before_message(contents: list[types.Content], added: types.Content) -> list[types.Content]:
    """Return the contents with an added content before the latest user message or after the latest responses.

    Contents that change with each request stand there: the provider can cache all contents before them.
    """
    index = len(contents)
    while index > 0 and is_user_message(contents[index - 1]):
        index -= 1
    return [*contents[:index], added, *contents[index:]]


def is_user_message(content: types.Content) -> bool:
    """True for a content of the person. Function responses have the role `user`, too, but belong to their calls."""
    return content.role == "user" and not any(part.function_response for part in content.parts or [])


def part_text(part: types.Part) -> str:
    """Return the text of a part; code and its result become blocks of text."""
    if part.executable_code is not None:
        return f"```\n{part.executable_code.code}\n```\n"
    if part.code_execution_result is not None:
        return f"```\n{part.code_execution_result.output}\n```\n"
    return part.text or ""


def unreadable_file(kind: str) -> ModelError:
    """Return the error for a file that the model's protocol has no place for."""
    message = f"The model cannot read files of the type {kind!r}. Begin a new conversation without this file."
    return ModelError("INVALID_ARGUMENT", message)


def _is_signed_by_claude(part: types.Part) -> bool:
    signature = part.thought_signature
    return signature is not None and signature.startswith((SIGNED_BY_CLAUDE, REDACTED_BY_CLAUDE))


def ending_with_user(contents: list[types.Content]) -> list[types.Content]:
    """Return the contents, followed by a generic user message if they do not end with one, as providers require."""
    if contents and contents[-1].role == "user":
        return contents
    text = _CONTINUE if contents else _START
    return [*contents, types.Content(role="user", parts=[types.Part(text=text)])]
