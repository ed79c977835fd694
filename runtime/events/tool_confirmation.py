"""What a person is asked to confirm, and what they answered (spec T7)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class ToolConfirmation(BaseModel):
    """A question about a function call and its answer.

    Attributes:
        hint: the sentence that the person reads.
        confirmed: the answer; False until there is one.
        payload: further data asked for, or given, with the answer; any JSON value.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    hint: str = ""
    confirmed: bool = False
    payload: Any | None = None
