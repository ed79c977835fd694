"""Decision on the calls to rerun after a person answered requests: a pure function of events (contract T7, T8).

    call -> "pending" response -> adk_request_… call -> the person's answer -> the same call is rerun -> response

The agent that made a call reruns it, with the recorded arguments, once per request. A request passes these states:

    open -> answered -> settled: the call has a response after the answer
      |
      +--> replaced by a newer request of the same kind for the same call

Only events record the state, so an answer that arrives twice reruns the call once.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from runtime import types
from runtime.engine.human_input.confirmation import confirmation_requests, read_confirmation
from runtime.engine.human_input.credentials import credential_requests
from runtime.events.calls import (
    FRAMEWORK_CALLS,
    REQUEST_CONFIRMATION,
    id_of_requested_call,
    is_framework_call,
    parts_of,
)
from runtime.events.event import Event
from runtime.events.event_actions import EventActions
from runtime.events.invocation_log import node_path_of
from runtime.events.rewound import drop_rewound
from runtime.events.tool_confirmation import ToolConfirmation, question_in

AgentRun = tuple[str, str]
"""Name of an agent, and the path of its node's run: the runs of a node share the agent. Empty outside workflows."""


@dataclass(frozen=True)
class AnsweredRequest:
    """The person's answer to a confirmation request.

    Attributes:
        asked_payload: payload of the request.
    """

    answer: ToolConfirmation
    asked_payload: Any = None


Confirmations = Mapping[str, AnsweredRequest | None]
"""Answered requests by the id of the call to rerun; None for a call that needed only a credential."""


@dataclass(frozen=True)
class NoAnswers:
    """The message answers no request to this agent: call the model as usual."""


@dataclass(frozen=True)
class AlreadyAnswered:
    """All answers in the message came too late, or match no request: do nothing."""


@dataclass(frozen=True)
class Rerun:
    """Calls to rerun.

    Attributes:
        calls: calls as the model made them.
        confirmations: an entry for each call.
    """

    calls: list[types.FunctionCall]
    confirmations: Confirmations


def requests_to_person(
    calls: Sequence[types.FunctionCall], actions: EventActions
) -> list[types.FunctionCall]:
    """Return the framework's calls that request the confirmations and credentials in `actions`."""
    return confirmation_requests(calls, actions) + credential_requests(calls, actions)


def decide_answers(
    events: Sequence[Event], invocation_id: str, run: AgentRun
) -> NoAnswers | AlreadyAnswered | Rerun:
    """Decide which calls the agent reruns, by the answers in the invocation's latest message.

    Rerun only calls that the agent made and that the framework asked about.

    Raises:
        InvalidAnswerError: an answer cannot be read.
    """
    message = _latest_message(events, invocation_id)
    # Most messages answer nothing: do not read the whole log for them.
    if message is None or not any(map(_is_answer, message.get_function_responses())):
        return NoAnswers()
    log = _RequestLog(invocation_id)
    # Rewound requests and answers must not let a call run.
    for event in drop_rewound(events):
        log.add(event)
    if log.has_only_void_answers(message):
        return AlreadyAnswered()
    calls = log.calls_to_run(run)
    if not calls:
        return NoAnswers()
    return Rerun(calls, {call.id or "": log.confirmation(call) for call in calls})


def _latest_message(events: Sequence[Event], invocation_id: str) -> Event | None:
    for event in reversed(events):
        if event.author == "user" and event.content and event.invocation_id == invocation_id:
            return event
    return None


@dataclass
class _Request:
    """A request to the person and its state.

    Attributes:
        kind: name of the framework call.
        made_by: agent that made the call, and the path of its node's run in a workflow.
        call: the call; None if the agent made no such call. Compared by identity, because models may reuse ids.
        asked_payload: payload of a confirmation request.
        answer: the latest answer before the rerun.
        is_fresh: True if the answer came in this invocation.
        is_settled: True if the call was rerun after an answer.
    """

    kind: str
    made_by: AgentRun
    call: types.FunctionCall | None
    asked_payload: Any = None
    answer: types.FunctionResponse | None = None
    is_fresh: bool = False
    is_settled: bool = False


class _RequestLog:
    """Requests and their answers, collected event by event."""

    def __init__(self, invocation_id: str) -> None:
        self._invocation_id = invocation_id
        self._requests: dict[str, _Request] = {}
        self._calls: dict[tuple[AgentRun, str], types.FunctionCall] = {}
        self._void_answers: set[tuple[str, str | None]] = set()

    def add(self, event: Event) -> None:
        author = (event.author, node_path_of(event))
        for call in event.get_function_calls():
            if call.id and call.name not in FRAMEWORK_CALLS:
                self._calls[author, call.id] = call
            elif call.id and is_framework_call(event, call):
                self._record_request(author, call)
        for response in event.get_function_responses():
            if event.author == "user" and _is_answer(response):
                self._record_answer(event, response)
            else:
                self._record_rerun(author, response)

    def has_only_void_answers(self, message: Event) -> bool:
        """Return True if the message holds only answers that came too late or match no request."""
        answered = [part.function_response for part in parts_of(message)]
        return all(response and (message.id, response.id) in self._void_answers for response in answered)

    def calls_to_run(self, run: AgentRun) -> list[types.FunctionCall]:
        """Return the run's answered calls that were not rerun yet, in the order of their requests."""
        calls: list[types.FunctionCall] = []
        for request in self._requests.values():
            if request.made_by == run and request.is_fresh and not request.is_settled:
                # A call may have two answered requests: for a confirmation and for a credential.
                if request.call and not any(request.call is call for call in calls):
                    calls.append(request.call)
        return calls

    def confirmation(self, call: types.FunctionCall) -> AnsweredRequest | None:
        """Return the answered confirmation request for the call, or None.

        The confirmation may be older than the answer: a confirmed call may have asked for a credential next.
        """
        for request in self._requests.values():
            if request.call is call and request.kind == REQUEST_CONFIRMATION and request.answer:
                # A copy: tools get the payload, and must not change the recorded request.
                return AnsweredRequest(read_confirmation(request.answer), deepcopy(request.asked_payload))
        return None

    def _record_request(self, author: AgentRun, request_call: types.FunctionCall) -> None:
        """Record a request in place of an earlier request of the same kind for the same call."""
        call = self._calls.get((author, id_of_requested_call(request_call) or ""))
        kind = request_call.name or ""
        for request_id, earlier in list(self._requests.items()):
            if call is not None and earlier.call is call and earlier.kind == kind:
                del self._requests[request_id]
        asked_payload = question_in(request_call.args or {}).get("payload")
        self._requests[request_call.id or ""] = _Request(kind, author, call, asked_payload)

    def _record_answer(self, event: Event, response: types.FunctionResponse) -> None:
        request = self._requests.get(response.id or "")
        if request is None or request.is_settled or request.kind != response.name:
            self._void_answers.add((event.id, response.id))
            return
        request.answer = response
        request.is_fresh = event.invocation_id == self._invocation_id

    def _record_rerun(self, author: AgentRun, response: types.FunctionResponse) -> None:
        # Agents may use the same id: a response belongs to its author's call, if the author has made a call with the
        # id. Any other response, such as one from outside, settles all requests about calls with the id: in doubt a
        # call does not run rather than twice.
        is_own = (author, response.id or "") in self._calls
        for request in self._requests.values():
            is_same_id = request.call is not None and request.call.id == response.id
            if request.answer and is_same_id and (request.made_by == author or not is_own):
                request.is_settled = True


def _is_answer(response: types.FunctionResponse) -> bool:
    return response.name in FRAMEWORK_CALLS
