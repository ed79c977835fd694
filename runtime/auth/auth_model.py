"""The base class of the auth models."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class AuthModel(BaseModel):
    """A model with camelCase names in JSON and either case in Python. Unknown fields are an error."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")
