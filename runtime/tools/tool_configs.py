"""Tools in an agent's YAML file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class BaseToolConfig(BaseModel):
    """Base of the arguments of one kind of tool. Unknown arguments are an error."""

    model_config = ConfigDict(extra="forbid")


class ToolArgsConfig(BaseModel):
    """Arguments of any names."""

    model_config = ConfigDict(extra="allow")


class ToolConfig(BaseModel):
    """A tool by its name in `runtime.tools`, or by its full name; `args` make it from a class or a function."""

    model_config = ConfigDict(extra="forbid")

    name: str
    args: ToolArgsConfig | None = None
