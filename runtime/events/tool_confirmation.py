"""A person's confirmation of a function call (contract T7)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class ToolConfirmation(BaseModel):
    """A question about a function call, and the person's answer.

    Attributes:
        hint: the sentence that the person reads.
        confirmed: the answer; False until it is given.
        payload: additional data requested from, or given by, the person; any JSON value.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    hint: str = ""
    confirmed: bool = False
    payload: Any | None = None
