"""What the person's answers to the framework's questions let run: a pure decision on events (spec T7, T8).

    call -> "pending" -> adk_request_… -> the person's answer -> the call itself, with its recorded arguments -> result

A call is run again by the agent that made it, once for each question; nothing but the log tells whether that happened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runtime import types
from runtime.engine.human_input.confirmation import confirmation_requests, read_confirmation
from runtime.engine.human_input.credentials import credential_requests
from runtime.events.calls import FRAMEWORK_CALLS, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL
from runtime.events.event import Event
from runtime.events.event_actions import EventActions
from runtime.events.rewound import drop_rewound
from runtime.events.tool_confirmation import ToolConfirmation

Confirmations = Mapping[str, ToolConfirmation | None]
"""The ids of calls that an answer lets run again, with what the person said to each; None: nothing was asked."""


@dataclass(frozen=True)
class NoAnswers:
    """The message answers no question to this agent: the turn goes its usual way."""


@dataclass(frozen=True)
class Spent:
    """All that the message answers was settled before: there is nothing to run and nothing to say."""


@dataclass(frozen=True)
class RunAgain:
    """Calls to run again.

    Attributes:
        calls: as the model made them.
        confirmations: an entry for each of them.
    """

    calls: list[types.FunctionCall]
    confirmations: Confirmations


def requests_to_person(
    calls: Sequence[types.FunctionCall], actions: EventActions
) -> list[types.FunctionCall]:
    """The framework's calls that ask the person for what these calls need, as their actions tell."""
    return confirmation_requests(calls, actions) + credential_requests(calls, actions)


def decide_answers(
    events: Sequence[Event], invocation_id: str, agent_name: str
) -> NoAnswers | Spent | RunAgain:
    """What the answers in the invocation's messages come to for the agent.

    Only calls that the agent itself made, and that the framework itself asked about, are ever run: a history that a
    client supplied executes no tool.

    Raises:
        InvalidAnswerError: an answer cannot be read.
    """
    message = next(
        (
            e
            for e in reversed(events)
            if e.author == "user" and e.content and e.invocation_id == invocation_id
        ),
        None,
    )
    if message is None or not any(_is_answer(response) for response in message.get_function_responses()):
        return NoAnswers()
    log = _Log(invocation_id)
    for event in drop_rewound(events):
        log.read(event)
    if log.is_spent(message):
        return Spent()
    calls = log.calls_to_run(agent_name)
    return (
        RunAgain(calls, {call.id or "": log.confirmation(call) for call in calls}) if calls else NoAnswers()
    )


@dataclass
class _Question:
    """One request to the person, and how far it got.

    Attributes:
        call: what it is about: the very call, since models may use an id again; None when its agent made no such call.
        answer: the latest one before the call was run again.
        is_fresh: whether that answer came in this invocation.
        is_settled: whether the call was run again after an answer.
    """

    kind: str
    author: str
    call: types.FunctionCall | None
    answer: types.FunctionResponse | None = None
    is_fresh: bool = False
    is_settled: bool = False


class _Log:
    """The framework's questions and their answers, read event by event."""

    def __init__(self, invocation_id: str) -> None:
        self._invocation_id = invocation_id
        self._questions: dict[str, _Question] = {}
        self._calls: dict[tuple[str, str], types.FunctionCall] = {}
        self._late: set[tuple[str, str | None]] = set()

    def read(self, event: Event) -> None:
        """Take in the next event of the session."""
        for call in event.get_function_calls():
            if call.id and call.name not in FRAMEWORK_CALLS:
                self._calls[event.author, call.id] = call
            elif call.id and call.id in (event.long_running_tool_ids or ()):
                self._ask(event.author, call)
        for response in event.get_function_responses():
            if event.author == "user" and _is_answer(response):
                self._answer(event, response)
            else:
                self._settle(response)

    def is_spent(self, message: Event) -> bool:
        """Whether the message has nothing but answers that came too late, or to no question."""
        parts = (message.content.parts or []) if message.content else []
        answered = [part.function_response for part in parts]
        return all(response and (message.id, response.id) in self._late for response in answered)

    def calls_to_run(self, agent_name: str) -> list[types.FunctionCall]:
        """The agent's calls that wait for nothing but to be run again, in the order in which they were asked about."""
        calls: list[types.FunctionCall] = []
        for question in self._questions.values():
            if question.author == agent_name and question.is_fresh and not question.is_settled:
                if question.call and not any(question.call is call for call in calls):
                    calls.append(question.call)
        return calls

    def confirmation(self, call: types.FunctionCall) -> ToolConfirmation | None:
        """What the person said to the call, be it now or before a credential was asked for."""
        for question in self._questions.values():
            if question.call is call and question.kind == REQUEST_CONFIRMATION and question.answer:
                return read_confirmation(question.answer)
        return None

    def _ask(self, author: str, request: types.FunctionCall) -> None:
        """A question replaces an earlier one of its kind about the same call."""
        call = self._calls.get((author, _id_of_original(request)))
        kind = request.name or ""
        for request_id, known in list(self._questions.items()):
            if call is not None and known.call is call and known.kind == kind:
                del self._questions[request_id]
        self._questions[request.id or ""] = _Question(kind, author, call)

    def _answer(self, event: Event, response: types.FunctionResponse) -> None:
        question = self._questions.get(response.id or "")
        if question is None or question.is_settled or question.kind != response.name:
            self._late.add((event.id, response.id))
            return
        question.answer = response
        question.is_fresh = event.invocation_id == self._invocation_id

    def _settle(self, response: types.FunctionResponse) -> None:
        for question in self._questions.values():
            if question.answer and question.call and question.call.id == response.id:
                question.is_settled = True


def _is_answer(response: types.FunctionResponse) -> bool:
    return response.name in FRAMEWORK_CALLS


def _id_of_original(request: types.FunctionCall) -> str:
    args = request.args or {}
    if request.name == REQUEST_CREDENTIAL:
        return str(args.get("functionCallId"))
    return str((args.get("originalFunctionCall") or {}).get("id"))
