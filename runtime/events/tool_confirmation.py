"""A person's confirmation of a function call (contract T7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from runtime.events.answer_rules import PERSON


class ToolConfirmation(BaseModel):
    """A question about a function call, and the person's answer.

    Attributes:
        hint: the sentence that the person reads.
        confirmed: the answer; False until it is given.
        payload: additional data requested from, or given by, the person; any JSON value.
        for_session: True in a question that offers to allow later calls of the tool in the session, and in an answer
            that allows them. Left out of the JSON when False: google-adk does not have this field.
        confirmed_by: in a question, the party that may answer: see `FunctionTool`. Left out of the JSON when it is the
            person: google-adk does not have this field.
        reason: in an answer, the reason that was given. Left out of the JSON when empty, as google-adk lacks it.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    hint: str = ""
    confirmed: bool = False
    payload: Any | None = None
    for_session: bool = Field(default=False, exclude_if=lambda offered: not offered)
    confirmed_by: str = Field(default=PERSON, exclude_if=lambda rule: rule == PERSON)
    reason: str = Field(default="", exclude_if=lambda reason: not reason)

    @classmethod
    def of_response(cls, response: dict[str, Any] | None) -> ToolConfirmation:
        """Return the person's answer, given as fields or as one JSON text under `response`.

        Raises:
            ValueError, TypeError: the answer has neither form.
        """
        fields = response or {}
        return cls.model_validate(json.loads(fields["response"]) if set(fields) == {"response"} else fields)


def confirmer_of(request_args: Mapping[str, Any]) -> str:
    """Return the party that may answer a confirmation request with these arguments: by default the person."""
    question = request_args.get("toolConfirmation")
    rule = question.get("confirmedBy") if isinstance(question, Mapping) else None
    return rule if isinstance(rule, str) else PERSON
