"""Questions of a task in words, and answers in words: for programs without a form for each kind of question."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from runtime import types
from runtime.events.calls import (
    CHOICE_TOOL,
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    TEXT_QUESTIONS,
    ResponseStatus,
)
from runtime.events.tool_confirmation import call_to_confirm, question_in
from runtime.valid_text import valid_text
from sessions_app.errors import InvalidInputError
from sessions_app.jobs.questions import JobAnswer
from sessions_app.models import ToolJob
from sessions_app.rendering.hidden_characters import escape_in_json

YES = frozenset({"yes", "y", "ok", "true", "approve", "approved", "confirm", "confirmed"})
NO = frozenset({"no", "n", "false", "reject", "rejected", "deny", "denied", "cancel"})


@dataclass(frozen=True)
class AnswerToCall:
    call_id: str
    name: str
    response: dict[str, Any]


@dataclass(frozen=True)
class AnswerToQuestion:
    job: ToolJob
    answer: JobAnswer


Answer = AnswerToCall | AnswerToQuestion
Question = types.FunctionCall | ToolJob
"""A pending call that a person may answer, or a job that asks the person."""


def text_of_question(question: Question) -> str:
    """Return the question of a pending call, or that of a job with its possible answers, as text valid in UTF-8."""
    if isinstance(question, ToolJob):
        return valid_text(_text_of_job(question))
    return valid_text(_text_of_call(question))


def options_of(question: Question) -> list[Any]:
    """Return the options of a choice; empty for other questions."""
    asked = question.question if isinstance(question, ToolJob) else question.args
    options = (asked or {}).get("options")
    return options if isinstance(options, list) else []


def asks_yes_or_no(question: Question) -> bool:
    if isinstance(question, ToolJob):
        return (question.question or {}).get("kind") == "confirm"
    return question.name == REQUEST_CONFIRMATION or _gets_status(question)


def _gets_status(call: types.FunctionCall) -> bool:
    """True for a call of a project's own long-running tool: `approved` or `rejected` answers it, as in the inbox."""
    is_own_tool = call.name not in TEXT_QUESTIONS | {CHOICE_TOOL, REQUEST_CREDENTIAL, REQUEST_CONFIRMATION}
    return is_own_tool and not options_of(call)


def _text_of_call(call: types.FunctionCall) -> str:
    args = call.args or {}
    if call.name == REQUEST_CONFIRMATION:
        call_to_run = call_to_confirm(args)
        hint = question_in(args).get("hint")
        hint = hint or f"May {call_to_run.get('name')} run with these arguments?"
        # A hint of the tool may leave arguments out, and some clients show texts only.
        return f"{hint} (yes or no)\n{_call_as_text(call_to_run.get('name'), call_to_run.get('args'))}"
    if call.name == REQUEST_CREDENTIAL:
        return "A credential is needed. Answer the call with it."
    if options := options_of(call):
        return f"Choose one: {_join_options(options)}"
    if _gets_status(call):
        return f"{_call_in_words(call)} (yes or no)"
    return _call_in_words(call)


def _call_in_words(call: types.FunctionCall) -> str:
    """Return the only argument if that is a text; otherwise the name with all arguments."""
    args = call.args or {}
    if not args:
        return call.name or ""
    (first, *others) = args.values()
    if isinstance(first, str) and not others:
        return first
    return _call_as_text(call.name, args)


def _text_of_job(job: ToolJob) -> str:
    text = str((job.question or {}).get("text") or "")
    if asks_yes_or_no(job):
        return f"{text} (yes or no)"
    options = options_of(job)
    return f"{text} ({_join_options(options)})" if options else text


def answer_to_call(call: types.FunctionCall, text: str) -> AnswerToCall:
    """Return the answer that a text gives to a call.

    Raises:
        InvalidInputError: the text is no answer to this call.
    """
    name = call.name or ""
    call_id = call.id or ""
    if call.name == REQUEST_CONFIRMATION:
        return AnswerToCall(call_id, name, {"confirmed": _yes_or_no(text)})
    if call.name == REQUEST_CREDENTIAL:
        raise InvalidInputError("A credential is needed: send it as the function response of the call.")
    options = options_of(call)
    if options:
        chosen = [option for option in options if str(option) == text]
        if not chosen:
            raise InvalidInputError(f"Choose one of these: {', '.join(map(str, options))}.")
        return AnswerToCall(call_id, name, {"result": chosen[0]})
    if _gets_status(call) and _word_in(text) in YES | NO:
        status = ResponseStatus.APPROVED if _yes_or_no(text) else ResponseStatus.REJECTED
        return AnswerToCall(call_id, name, {"status": status.value})
    # A program may know what a project's tool expects beyond yes and no.
    return AnswerToCall(call_id, name, {"result": text})


def answer_to_job(job: ToolJob, text: str) -> AnswerToQuestion:
    """Return the answer that a text gives to a job's question.

    Raises:
        InvalidInputError: the question wants yes or no.
    """
    answer: JobAnswer = text
    if asks_yes_or_no(job):
        answer = _yes_or_no(text)
    return AnswerToQuestion(job, answer)


def _yes_or_no(text: str) -> bool:
    word = _word_in(text)
    if word not in YES | NO:
        raise InvalidInputError("Answer with yes or no.")
    return word in YES


def _word_in(text: str) -> str:
    return text.lower().rstrip(".!")


def _call_as_text(name: str | None, args: dict[str, Any] | None) -> str:
    """Return a call with its whole arguments as JSON, hidden characters as escapes."""
    shown = json.dumps(args or {}, ensure_ascii=False, sort_keys=True, default=str)
    return f"{name}: {escape_in_json(shown)}"


def _join_options(options: Iterable[Any]) -> str:
    return ", ".join(str(option) for option in options)
