"""Answers to calls and questions that wait for a person, as requests have them."""

from __future__ import annotations

from typing import Any, ClassVar

from ninja import Schema
from pydantic import Field, model_validator

from runtime.events.calls import REQUEST_CONFIRMATION
from sessions_app.base.codec import MAX_INTEGER
from sessions_app.invocations.answers.form_answers import ConfirmationForm, FormAnswer, OptionForm
from sessions_app.rendering.questions import CHOICE_TOOL


class CallAnswer(Schema):
    """Answer to a call: one of `response`, `confirmed` and `option`.

    Attributes:
        name: name of the called function, as a check; may be left out.
        response: the response of the function, as the agent gets it.
        confirmed: true approves the call of a confirmation, false rejects it.
        payload: whole payload of a confirmation.
        changes: values of the payload that differ from those of the question, by name, in place of the whole.
        for_session: true approves the later calls of the session, too, if the question offers that.
        option: number of the option of a choice, from 0.
    """

    kinds: ClassVar[tuple[str, ...]] = ("response", "confirmed", "option")

    name: str | None = Field(None, max_length=128)
    response: dict[str, Any] | None = Field(None, examples=[{"status": "approved"}])
    confirmed: bool | None = None
    payload: Any = None
    changes: dict[str, Any] | None = None
    for_session: bool = False
    option: int | None = Field(None, ge=0, le=MAX_INTEGER)

    @model_validator(mode="after")
    def check_kind(self) -> CallAnswer:
        """Refuse an answer of no kind, or of several."""
        if sum(getattr(self, kind) is not None for kind in self.kinds) != 1:
            raise ValueError(f"send one of {', '.join(self.kinds)}")
        return self

    def as_response(self) -> tuple[str | None, dict[str, Any] | FormAnswer]:
        """Return the name of the function, None for any, and the response or the form to complete."""
        if self.response is not None:
            return self.name, self.response
        if self.option is not None:
            return CHOICE_TOOL, OptionForm(self.option)
        answer = ConfirmationForm(bool(self.confirmed), self.changes, self.payload, self.for_session)
        return REQUEST_CONFIRMATION, answer
