"""Conversion of A2A messages to the input of use cases: text, files, and answers to pending calls and questions.

Clients that know ADK answer a call by a function response with its id. All others write plain text, which is taken as
the answer if only one question is pending.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from a2a.types import Message, Part
from a2a.utils.errors import InvalidParamsError

from runtime import types
from runtime.a2a.parts import data_of, function_response_in, json_of
from runtime.events.calls import REQUEST_CONFIRMATION, REQUEST_CREDENTIAL
from sessions_app.contrib.a2a.conversion import options_of
from sessions_app.contrib.a2a.tasks import SiteTask
from sessions_app.jobs.questions import JobAnswer
from sessions_app.models import ToolJob

YES = frozenset({"yes", "y", "ok", "true", "approve", "approved", "confirm", "confirmed"})
NO = frozenset({"no", "n", "false", "reject", "rejected", "deny", "denied", "cancel"})


@dataclass(frozen=True)
class MessageFile:
    name: str
    data: bytes


@dataclass(frozen=True)
class AnswerToCall:
    call_id: str
    name: str
    response: dict[str, Any]


@dataclass(frozen=True)
class QuestionAnswer:
    job: ToolJob
    answer: JobAnswer


def text_of(message: Message) -> str:
    """Return the text of a message, with data parts as JSON and linked files as URLs."""
    texts = [part.text or part.url or _json(part) for part in message.parts]
    return "\n".join(text for text in texts if text)


def files_of(message: Message) -> list[MessageFile]:
    return [
        MessageFile(part.filename or f"file-{index + 1}", part.raw)
        for index, part in enumerate(message.parts)
        if part.WhichOneof("content") == "raw"
    ]


def answers_in(message: Message, task: SiteTask) -> Sequence[AnswerToCall | QuestionAnswer]:
    """Return the answers in a message: function responses to calls by id, else the text for the only question.

    Raises:
        InvalidParamsError: the message does not tell which question it answers, or has no valid answer.
    """
    responses = [found for part in message.parts if (found := function_response_in(part))]
    if responses:
        waiting = {call.id: call for call in task.asked}
        return [_named_answer(response, waiting) for response in responses]
    if len(task.asked) + len(task.questions) != 1:
        names = [f"{call.name} ({call.id})" for call in task.asked]
        names += [f"{job.tool_name} (question of a job)" for job in task.questions]
        raise InvalidParamsError(
            f"Several questions wait: {', '.join(names)}. Answer a call by a function response with its id; "
            "questions of several jobs are answered in the chat or by the site's own API."
        )
    if task.questions:
        return [_question_answer(task.questions[0], text_of(message).strip())]
    data = next((value for part in message.parts if isinstance(value := data_of(part), dict)), None)
    return [_call_answer(task.asked[0], text_of(message).strip(), data)]


def _named_answer(
    response: types.FunctionResponse, waiting: dict[str | None, types.FunctionCall]
) -> AnswerToCall:
    call = waiting.get(response.id)
    if call is None:
        raise InvalidParamsError(f"No call {response.id!r} of this task waits for an answer.")
    return AnswerToCall(call.id or "", response.name or "", response.response or {})


def _call_answer(call: types.FunctionCall, text: str, data: dict[str, Any] | None) -> AnswerToCall:
    name = call.name or ""
    call_id = call.id or ""
    if data is not None:
        return AnswerToCall(call_id, name, data)
    if call.name == REQUEST_CONFIRMATION:
        return AnswerToCall(call_id, name, {"confirmed": _yes_or_no(text)})
    if call.name == REQUEST_CREDENTIAL:
        raise InvalidParamsError("A credential is needed: send it as the function response of the call.")
    options = options_of(call)
    if options:
        chosen = [option for option in options if str(option) == text]
        if not chosen:
            raise InvalidParamsError(f"Choose one of these: {', '.join(map(str, options))}.")
        return AnswerToCall(call_id, name, {"result": chosen[0]})
    return AnswerToCall(call_id, name, {"result": text})


def _question_answer(job: ToolJob, text: str) -> QuestionAnswer:
    if (job.question or {}).get("kind") == "confirm":
        return QuestionAnswer(job, _yes_or_no(text))
    return QuestionAnswer(job, text)


def _yes_or_no(text: str) -> bool:
    word = text.lower().rstrip(".!")
    if word not in YES | NO:
        raise InvalidParamsError("Answer with yes or no.")
    return word in YES


def _json(part: Part) -> str:
    if part.WhichOneof("content") != "data" or function_response_in(part):
        return ""
    return json_of(part)
