"""Tools in an agent's YAML file."""

from pydantic import BaseModel, ConfigDict


class BaseToolConfig(BaseModel):
    """Base class for the arguments of one kind of tool. Unknown arguments are an error."""

    model_config = ConfigDict(extra="forbid")


class ToolArgsConfig(BaseModel):
    """Arguments with any names."""

    model_config = ConfigDict(extra="allow")


class ToolConfig(BaseModel):
    """Reference to a tool.

    Attributes:
        name: name in `runtime.tools`, or full name of a Python object.
        args: arguments for the named class or function; None to use the object itself.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    args: ToolArgsConfig | None = None
