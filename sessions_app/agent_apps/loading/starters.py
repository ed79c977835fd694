"""Starters: messages offered by an empty chat. A module with an app may define them as `starters`."""

from __future__ import annotations

from types import ModuleType

from runtime.errors import ConfigurationError

MAX_STARTERS = 6


def starters_of(module: object) -> tuple[str, ...]:
    """Return the starters of a module; none for any other object.

    Raises:
        ConfigurationError: `starters` is not a list of at most `MAX_STARTERS` messages.
    """
    if not isinstance(module, ModuleType):
        return ()
    given = getattr(module, "starters", ())
    is_list = isinstance(given, list | tuple) and all(
        isinstance(text, str) and text.strip() for text in given
    )
    if not is_list or len(given) > MAX_STARTERS:
        raise ConfigurationError(
            f"{module.__name__}: starters must be a list of at most {MAX_STARTERS} messages; it is {given!r:.200}."
        )
    return tuple(given)
