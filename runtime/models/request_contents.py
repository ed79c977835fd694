"""Contents as providers require them.

A session may be continued by a model that has not written its earlier contents. Some parts are valid for their
author only: signed thoughts, for example. The signatures that we convert begin with a mark of their origin, so each
model's converter can tell which parts it may send back.
"""

from runtime import types
from runtime.errors import ModelError
from runtime.models.llm_response import responses_in

_START = "Do what the system instruction says."
_OWN_FILE = "A file of your answer:"
_CONTINUE = "Go on as instructed. If nothing is left to do, sum up what was done."

# Claude's signatures begin with these marks, so thoughts are sent back only to the model that signed them.
SIGNED_BY_CLAUDE = b"claude:"
REDACTED_BY_CLAUDE = b"claude-redacted:"

# Marks of servers with the chat completions protocol: thoughts that must be sent back with the results of calls, and
# Google's signature of a call.
REASONING_CONTENT = b"chat:reasoning_content"
SIGNED_IN_CHAT = b"chat:"


def without_foreign_signatures(contents: list[types.Content]) -> list[types.Content]:
    """Return the contents for a model that refuses foreign signatures; unchanged contents are the same objects.

    Leave out thoughts with such a signature; keep calls without it.
    """
    kept = []
    for content in contents:
        parts = []
        has_changed = False
        for part in content.parts or []:
            if not _has_foreign_signature(part):
                parts.append(part)
                continue
            has_changed = True
            if part.function_call:
                parts.append(part.model_copy(update={"thought_signature": None}))
        if not has_changed:
            kept.append(content)
        elif parts:
            kept.append(content.model_copy(update={"parts": parts}))
    return kept


def insert_before_message(contents: list[types.Content], added: types.Content) -> list[types.Content]:
    """Return the contents with an added content before the latest user message or after the latest responses.

    Use it for contents that change with each request: the provider can still cache all contents before them.
    """
    index = len(contents)
    while index > 0 and is_user_message(contents[index - 1]):
        index -= 1
    return [*contents[:index], added, *contents[index:]]


def is_user_message(content: types.Content) -> bool:
    """Return True for a message of the user.

    Function responses have the role `user`, too, but belong to their calls.
    """
    return content.role == "user" and not responses_in(content)


def part_text(part: types.Part) -> str:
    """Return the text of a part; code and its output become code blocks."""
    if part.executable_code is not None:
        return f"```\n{part.executable_code.code}\n```\n"
    if part.code_execution_result is not None:
        return f"```\n{part.code_execution_result.output}\n```\n"
    return part.text or ""


def unreadable_file(kind: str) -> ModelError:
    """Return the error for a file type that the model's protocol does not support."""
    message = f"The model cannot read files of the type {kind!r}. Begin a new chat without this file."
    return ModelError("INVALID_ARGUMENT", message)


def _has_foreign_signature(part: types.Part) -> bool:
    signature = part.thought_signature
    marks = (SIGNED_BY_CLAUDE, REDACTED_BY_CLAUDE, SIGNED_IN_CHAT)
    return signature is not None and signature.startswith(marks)


def ending_with_user(contents: list[types.Content]) -> list[types.Content]:
    """Return the contents; append a generic user message if they end with another content, as providers require."""
    if contents and contents[-1].role == "user":
        return contents
    text = _CONTINUE if contents else _START
    return [*contents, types.Content(role="user", parts=[types.Part(text=text)])]


def with_files_from_user(contents: list[types.Content]) -> list[types.Content]:
    """Return the contents with the files of answers in the next message of the user, for models that read them there.

    The contents end with a content of the user. Their number stays the same.
    """
    moved: list[types.Part] = []
    converted = []
    for content in contents:
        parts = content.parts or []
        if content.role != "model":
            own = [*parts, *moved]
            moved = []
        else:
            own = [part for part in parts if part.inline_data is None]
            for part in parts:
                if part.inline_data is not None:
                    moved += [types.Part(text=_OWN_FILE), types.Part(inline_data=part.inline_data)]
        if len(own) != len(parts):
            content = content.model_copy(update={"parts": own})
        converted.append(content)
    return converted
