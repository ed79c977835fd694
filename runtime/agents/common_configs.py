"""References in an agent's YAML file: to Python objects and to other agents."""

from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator


class CodeConfig(BaseModel):
    """Reference to a Python object by full name, such as `shop.callbacks.check`."""

    model_config = ConfigDict(extra="forbid")

    name: str


class AgentRefConfig(BaseModel):
    """Reference to an agent.

    Attributes:
        config_path: path of a YAML file, relative to the referring file.
        code: full name of a Python object.
    """

    model_config = ConfigDict(extra="forbid")

    config_path: str | None = None
    code: str | None = None

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.config_path is None) == (self.code is None):
            raise ValueError("Give either `config_path` or `code`: exactly one of them must be provided.")
        return self
