"""Example of a good answer."""

from pydantic import BaseModel, ConfigDict

from runtime import types


class Example(BaseModel):
    """A message and the contents of a good answer, including function calls and responses."""

    model_config = ConfigDict(extra="forbid")

    input: types.Content
    output: list[types.Content]
