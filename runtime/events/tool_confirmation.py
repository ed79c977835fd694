"""A person's confirmation of a function call (contract T7)."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import from_json

from runtime.events.answer_rules import PERSON


class ToolConfirmation(BaseModel):
    """A question about a function call, and the person's answer.

    Attributes:
        hint: the sentence for the person.
        confirmed: the answer; False until it is given.
        payload: additional data requested from, or given by, the person; any JSON value.
        for_session: True in a question that offers to allow later calls of the tool in the session, and in an answer
            that allows them.
        confirmed_by: in a question, the party that may answer: see `FunctionTool`.
        reason: in an answer, the given reason.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    hint: str = ""
    confirmed: bool = False
    payload: Any | None = None
    # google-adk lacks the last three fields and refuses unknown ones: they are in the JSON only if they are set.
    for_session: bool = Field(default=False, exclude_if=lambda offered: not offered)
    confirmed_by: str = Field(default=PERSON, exclude_if=lambda rule: rule == PERSON)
    reason: str = Field(default="", exclude_if=lambda reason: not reason)

    @classmethod
    def of_response(cls, response: dict[str, Any] | None) -> "ToolConfirmation":
        """Return the person's answer, given as fields or as one JSON text under `response`.

        Raises:
            ValueError, TypeError: the answer has neither form.
        """
        fields = response or {}
        if set(fields) == {"response"}:
            fields = from_json(fields["response"])
        return cls.model_validate(fields)


def make_request_args(call: Mapping[str, Any], question: ToolConfirmation) -> dict[str, Any]:
    """Return the arguments of a request to confirm `call`, a mapping with `id`, `name` and `args`."""
    asked = question.model_dump(mode="json", by_alias=True)
    return {"originalFunctionCall": dict(call), "toolConfirmation": asked}


def call_to_confirm(request_args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the call to confirm from a confirmation request; an empty dict for arguments of other calls."""
    return _object_in(request_args, "originalFunctionCall")


def args_to_confirm(request_args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of the call to confirm; `request_args` themselves if they are those of another call."""
    call = call_to_confirm(request_args)
    return _object_in(call, "args") if call else request_args


def question_in(request_args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the question of a confirmation request; an empty dict for arguments of other calls."""
    return _object_in(request_args, "toolConfirmation")


def default_hint(tool_name: str) -> str:
    """Return the hint of the framework's question about a call of the tool."""
    return f"May {tool_name} run with these arguments?"


def own_hint(request_args: Mapping[str, Any]) -> str:
    """Return the hint that the tool gave in a confirmation request; empty for the framework's default hint."""
    hint = str(question_in(request_args).get("hint") or "")
    tool_name = str(call_to_confirm(request_args).get("name") or "")
    return "" if hint == default_hint(tool_name) else hint


def offers_allowance(request_args: Mapping[str, Any]) -> bool:
    """Return True if the arguments of a confirmation request offer to allow later calls."""
    return question_in(request_args).get("forSession") is True


def confirmer_of(request_args: Mapping[str, Any]) -> str:
    """Return the party that may answer a confirmation request with these arguments: by default the person."""
    rule = question_in(request_args).get("confirmedBy")
    return rule if isinstance(rule, str) else PERSON


def _object_in(request_args: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = request_args.get(key)
    return found if isinstance(found, dict) else {}
