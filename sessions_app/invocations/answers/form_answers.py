"""Answers given in a form of the page, completed from the stored question.

The browser sends only values entered by the person. It could not send every stored value back unchanged: JavaScript
rounds integers from 2**53 on, and HTML inputs change line breaks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.events.tool_confirmation import ToolConfirmation, question_in
from sessions_app.base.codec import refusing_deep_values
from sessions_app.errors import InvalidInputError


@dataclass(frozen=True)
class ConfirmationForm:
    """A yes or a no to a confirmation.

    Attributes:
        changes: with a yes, in place of `payload`: changed values of the question's payload, by name. A payload other
            than an object has the name "".
        payload: the whole payload of the answer.
        for_session: True to allow the later calls of the session, too.
        reason: reason of staff, for the agent.
    """

    confirmed: bool
    changes: Mapping[str, Any] | None = None
    payload: Any = None
    for_session: bool = False
    reason: str = ""

    def response_to(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response to the question.

        Raises:
            InvalidInputError: the payload has no value of a changed name, or a value is nested too deeply.
        """
        field = "payload"
        payload = self.payload
        if self.confirmed and self.changes is not None:
            field = "changes"
            payload = _with_changes(question_in(args).get("payload"), self.changes)
        answer = ToolConfirmation(
            confirmed=self.confirmed, payload=payload, for_session=self.for_session, reason=self.reason
        )
        left_out = {"hint"} if self.confirmed or payload is not None else {"hint", "payload"}
        with refusing_deep_values(field):
            return answer.model_dump(by_alias=True, exclude=left_out)


def _with_changes(payload: Any, changes: Mapping[str, Any]) -> Any:
    values = payload if isinstance(payload, Mapping) else {"": payload}
    unknown = sorted(changes.keys() - values.keys())
    if unknown:
        raise InvalidInputError(
            f"This question has no field {unknown[0]!r}. Reload the page and answer again.",
            field="changes",
        )
    values = {**values, **changes}
    return values if isinstance(payload, Mapping) else values[""]


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


FormAnswer = ConfirmationForm | OptionForm
