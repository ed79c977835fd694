"""Contents as providers require them."""

from __future__ import annotations

from runtime import types

_START = "Do what the system instruction says."
_CONTINUE = "Go on as instructed. If nothing is left to do, sum up what was done."


def ending_with_user(contents: list[types.Content]) -> list[types.Content]:
    """Return the contents, followed by a generic user message if they do not end with one, as providers require."""
    if contents and contents[-1].role == "user":
        return contents
    text = _CONTINUE if contents else _START
    return [*contents, types.Content(role="user", parts=[types.Part(text=text)])]
