"""Answers given in a form of the page, completed from the stored question.

The browser sends only values entered by the person. It could not send every stored value back unchanged: JavaScript
rounds integers from 2**53 on, and HTML inputs change line breaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.events.tool_confirmation import ToolConfirmation, question_in
from sessions_app.base.codec import refusing_deep_values
from sessions_app.errors import InvalidInputError


@dataclass(frozen=True)
class ApprovalForm:
    """A yes to a confirmation.

    Attributes:
        changes: changed values of the question's payload, by name. A payload other than an object has the name "".
        for_session: True to allow the later calls of the session, too.
    """

    changes: Mapping[str, Any]
    for_session: bool

    def response_to(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response with the question's payload and the changes.

        Raises:
            InvalidInputError: the payload has no value of a changed name, or a value is nested too deeply.
        """
        payload = question_in(args).get("payload")
        values = payload if isinstance(payload, Mapping) else {"": payload}
        unknown = sorted(self.changes.keys() - values.keys())
        if unknown:
            raise InvalidInputError(
                f"This question has no field {unknown[0]!r}. Reload the page and answer again.",
                field="changes",
            )
        values = {**values, **self.changes}
        answer = ToolConfirmation(
            confirmed=True,
            payload=values if isinstance(payload, Mapping) else values[""],
            for_session=self.for_session,
        )
        with refusing_deep_values("changes"):
            return answer.model_dump(by_alias=True, exclude={"hint"})


@dataclass(frozen=True)
class OptionForm:
    """The option pressed by the person; `number` counts from 0."""

    number: int

    def response_to(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response with the option.

        Raises:
            InvalidInputError: the question has no such option.
        """
        options = args.get("options")
        if not isinstance(options, list) or not 0 <= self.number < len(options):
            raise InvalidInputError(
                f"This question has no option {self.number}. Reload the page and choose again.",
                field="option",
            )
        return {"result": options[self.number]}


FormAnswer = ApprovalForm | OptionForm
