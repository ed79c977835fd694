"""A skill: front matter, instructions and files (https://agentskills.io/specification)."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

ADDITIONAL_TOOLS = "adk_additional_tools"
"""Metadata with the names of tools that the agent has once the skill was read."""
INJECT_STATE = "adk_inject_state"
"""Metadata: True to fill in `{key}` of the instructions from the state, as in an agent's instruction."""

_MAX_NAME_LENGTH = 64
_MAX_DESCRIPTION_LENGTH = 1024
_MAX_COMPATIBILITY_LENGTH = 500
_MAX_VALUES = 1_000
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# Without tab, line feed and carriage return; with the marks that make a text look other than it is.
_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Frontmatter(BaseModel):
    """Head of a skill: the part that a model reads before it decides to use it, and notes of the author.

    Attributes:
        name: up to 64 lower-case letters, digits and single hyphens between them.
        description: purpose, and when to use the skill.
        allowed_tools: names of tools, separated by spaces; not used by the runtime.
        metadata: values of the author; see `ADDITIONAL_TOOLS` and `INJECT_STATE`.
    """

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    name: str = Field(max_length=_MAX_NAME_LENGTH)
    description: str = Field(min_length=1, max_length=_MAX_DESCRIPTION_LENGTH)
    license: str | None = None
    compatibility: str | None = Field(default=None, max_length=_MAX_COMPATIBILITY_LENGTH)
    allowed_tools: str | None = Field(default=None, alias="allowed-tools")
    metadata: dict[str, Any] = {}

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError(f"write lower-case letters, digits and single hyphens, not {name!r}")
        return name

    @field_validator("description")
    @classmethod
    def _check_description(cls, description: str) -> str:
        return without_hidden_characters(description)

    @field_validator("metadata")
    @classmethod
    def _check_metadata(cls, metadata: dict[str, Any]) -> dict[str, Any]:
        tools = metadata.get(ADDITIONAL_TOOLS, [])
        if not isinstance(tools, list) or not all(isinstance(tool, str) for tool in tools):
            raise ValueError(f"{ADDITIONAL_TOOLS} is a list of tool names")
        if not isinstance(metadata.get(INJECT_STATE, False), bool):
            raise ValueError(f"{INJECT_STATE} is true or false")
        return metadata

    @property
    def additional_tools(self) -> list[str]:
        return list(self.metadata.get(ADDITIONAL_TOOLS, []))


class Script(BaseModel):
    """Source text of a script."""

    src: str

    def __str__(self) -> str:
        return self.src


class Resources(BaseModel):
    """Files of a skill: texts, or bytes of other files, by their path in the folder of their kind."""

    references: dict[str, str | bytes] = {}
    assets: dict[str, str | bytes] = {}
    scripts: dict[str, Script] = {}

    @field_validator("references", "assets", "scripts")
    @classmethod
    def _check_paths(cls, files: dict[str, Any]) -> dict[str, Any]:
        for path in files:
            parts = PurePosixPath(path).parts
            # A script runs among copies of these files: none may be written elsewhere.
            is_inside = parts and parts[0] != "/" and ".." not in parts and "\\" not in path
            if not is_inside or not path.isprintable():
                raise ValueError(f"{path!r} is no path below the skill; rename the file")
        return files

    def get_reference(self, reference_id: str) -> str | bytes | None:
        return self.references.get(reference_id)

    def get_asset(self, asset_id: str) -> str | bytes | None:
        return self.assets.get(asset_id)

    def get_script(self, script_id: str) -> Script | None:
        return self.scripts.get(script_id)

    def list_references(self) -> list[str]:
        return list(self.references)

    def list_assets(self) -> list[str]:
        return list(self.assets)

    def list_scripts(self) -> list[str]:
        return list(self.scripts)

    def by_path(self) -> dict[str, str | bytes]:
        """Return all files by their path in the skill's folder."""
        files: dict[str, str | bytes] = {}
        files |= {f"references/{path}": found for path, found in self.references.items()}
        files |= {f"assets/{path}": found for path, found in self.assets.items()}
        files |= {f"scripts/{path}": script.src for path, script in self.scripts.items()}
        return files


class Skill(BaseModel):
    """A skill with the text of its SKILL.md below the front matter, and its files."""

    frontmatter: Frontmatter
    instructions: str
    resources: Resources = Resources()

    @property
    def name(self) -> str:
        return self.frontmatter.name

    @property
    def description(self) -> str:
        return self.frontmatter.description


def without_hidden_characters(text: str) -> str:
    """Return the text.

    Raises:
        ValueError: the text has control characters, or marks that change the direction of the text.
    """
    if found := _HIDDEN.search(text):
        raise ValueError(f"the character U+{ord(found[0]):04X} is hidden from readers; delete it")
    return text


def check_number_of_values(value: Any) -> None:
    """Check the size of a YAML document. A few aliases in it can stand for millions of values.

    Raises:
        ValueError: the value has too many values in it.
    """
    waiting: list[Iterable[Any]] = [[value]]
    count = 0
    while waiting:
        for item in waiting.pop():
            count += 1
            if count > _MAX_VALUES:
                raise ValueError(f"the front matter has more than {_MAX_VALUES} values")
            if isinstance(item, dict):
                waiting.append(item.values())
            elif isinstance(item, list | set):
                waiting.append(item)
