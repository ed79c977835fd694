"""Appearance of an app in the chat: faces, which are names, colours and pictures of agents, and starters.

A module with an app may define `faces`, by name of the agent, and `starters`, messages that an empty chat offers.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from runtime.agents.base_agent import BaseAgent
from runtime.agents.tree import walk_trees
from runtime.errors import ConfigurationError
from sessions_app.agent_apps.loading.load_errors import reason_of
from sessions_app.agent_apps.loading.versions import label_of

Color = Literal["", "red", "orange", "green", "teal", "blue", "purple", "pink", "gray"]
"""Names of the colours; `event.css` has their tones for the light and the dark theme."""
MAX_NAME_LENGTH = 60

MAX_STARTERS = 6


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Face:
    """Appearance of an agent.

    Attributes:
        name: empty for the agent's name as words. Catalogues of a project may translate names.
        color: colour of the initial before the name; empty for none.
        picture: path among the static files of a picture in place of the initial; empty for none.
    """

    name: str = Field(default="", max_length=MAX_NAME_LENGTH)
    color: Color = ""
    picture: str = Field(default="", max_length=500)


_FACES = TypeAdapter(dict[str, Face])


def check_declarations(module: object, root_agent: BaseAgent | None) -> None:
    """Raise for a mistake in the starters, the label or the faces of a module, before somebody opens a chat."""
    starters_of(module)
    label_of(module)
    faces_of(module, root_agent)


def faces_of(module: object, root_agent: BaseAgent | None = None) -> Mapping[str, Face]:
    """Return the faces of a module; none for any other object.

    Args:
        root_agent: if given, each name must be of an agent in its trees.

    Raises:
        ConfigurationError: `faces` is no dict of faces, or names an unknown agent.
    """
    if not isinstance(module, ModuleType):
        return {}
    try:
        faces = _FACES.validate_python(getattr(module, "faces", {}))
    except ValidationError as error:
        raise ConfigurationError(f"{module.__name__}.faces: {reason_of(error)}") from error
    if faces and root_agent:
        known = [agent.name for agent in walk_trees(root_agent)]
        for name in faces:
            if name not in known:
                raise ConfigurationError(
                    f"{module.__name__}.faces names {name!r}, which is no agent of the app: {', '.join(known)}."
                )
    return faces


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
