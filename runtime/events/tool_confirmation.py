"""A person's confirmation of a function call (contract T7)."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class ToolConfirmation(BaseModel):
    """A question about a function call, and the person's answer.

    Attributes:
        hint: the sentence that the person reads.
        confirmed: the answer; False until it is given.
        payload: additional data requested from, or given by, the person; any JSON value.
        for_session: True in a question that offers to allow later calls of the tool in the session, and in an answer
            that allows them. Left out of the JSON when False: google-adk does not have this field.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    hint: str = ""
    confirmed: bool = False
    payload: Any | None = None
    for_session: bool = Field(default=False, exclude_if=lambda offered: not offered)

    @classmethod
    def of_response(cls, response: dict[str, Any] | None) -> ToolConfirmation:
        """Return the person's answer, given as fields or as one JSON text under `response`.

        Raises:
            ValueError, TypeError: the answer has neither form.
        """
        fields = response or {}
        return cls.model_validate(json.loads(fields["response"]) if set(fields) == {"response"} else fields)
