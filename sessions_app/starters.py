"""Starters: messages that an empty chat offers, from `starters` of the module that defines the app."""

from __future__ import annotations

from types import ModuleType

from runtime.errors import ConfigurationError

MOST_STARTERS = 4


def starters_of(module: ModuleType | None) -> tuple[str, ...]:
    """Return the starters that a module defines; none without a module.

    Raises:
        ConfigurationError: `starters` is no list of a few messages.
    """
    given = getattr(module, "starters", ())
    is_list = isinstance(given, list | tuple) and all(isinstance(one, str) and one.strip() for one in given)
    if not is_list or len(given) > MOST_STARTERS:
        name = module and module.__name__
        raise ConfigurationError(
            f"{name}: starters must be a list of at most {MOST_STARTERS} messages; it is {given!r:.200}."
        )
    return tuple(given)
