"""`to_a2a` of google-adk, which makes a web application of one agent. Here the site serves agents."""

from typing import Any, NoReturn

from runtime.errors import ConfigurationError


def to_a2a(agent: Any, **options: Any) -> NoReturn:
    """Refuse to make a web application.

    Raises:
        ConfigurationError: always, with the remedy.
    """
    name = getattr(agent, "name", "")
    raise ConfigurationError(
        f"Agent {name!r} needs no to_a2a: the site serves its agents by A2A. Remove the call, and name the app in the "
        "setting 'a2a_apps', see docs/a2a.md."
    )
