"""Queries about the function calls in a list of events: pure functions.

Models may use a call id again, even for another function, and parallel agents may use the same ids. So an id alone does
not identify the call of a response; `MadeCalls` pairs calls and responses.

A long-running call passes these states:

    made -> "pending" response of the tool (optional) -> response from outside, or a failure
    |<------------------- waits --------------------->|
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from runtime import types
from runtime.events.event import Event, index_of
from runtime.events.tool_confirmation import call_to_confirm
from runtime.models.llm_response import parts_in, responses_in

REQUEST_CONFIRMATION = "adk_request_confirmation"
REQUEST_CREDENTIAL = "adk_request_credential"
REQUEST_INPUT = "adk_request_input"
FRAMEWORK_CALLS = frozenset({REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT})
"""Names of the framework's questions to the person; models never see these calls (contract T7, T8)."""

REMOTE_INPUT = "mock_function_call_for_required_user_input"
REMOTE_AUTH = "mock_function_call_for_required_user_auth"
REMOTE_QUESTIONS = frozenset({REMOTE_INPUT, REMOTE_AUTH})
"""Names of a remote agent's questions to the person, as in google-adk (contract A10)."""

CHOICE_TOOL = "get_user_choice"
TEXT_QUESTIONS = REMOTE_QUESTIONS | {REQUEST_INPUT}
"""Names of questions that the user answers in words."""

SECONDS_KEY = "adk_call_seconds"
"""Key in `custom_metadata` of a function response event: durations of its calls in seconds, by call id.

One event answers all calls of a step, so the timestamps of events do not tell how long each call took.
"""


class ResponseStatus(StrEnum):
    """Value of `status` in the response to a call, as the framework and its application write and read it.

    A tool may write any other status, and may use most of these words with another meaning. Only `FAILURES` report a
    failure also without an `error`.
    """

    PENDING = "pending"
    """The call waits for a person, or for whatever a long-running tool has begun."""
    QUEUED = "queued"
    """The call waits for a job of the application."""
    SUCCEEDED = "succeeded"
    """The job, or the wait of a workflow, has ended."""
    APPROVED = "approved"
    """Somebody said yes to a long-running call that asks for no more than yes or no."""
    REJECTED = "rejected"
    """A person rejected the call: it did not run."""
    ERROR = "error"
    """The tool or the job failed."""
    FAILED = "failed"
    """Another word for `error`, which some tools use."""
    CANCELLED = "cancelled"
    """A person cancelled the job."""
    INTERRUPTED = "interrupted"
    """The invocation ended while the call ran: it may have had effects."""
    STOPPED = "stopped"
    """The invocation was stopped while the call waited for an answer."""

    def with_error(self, message: str) -> dict[str, Any]:
        """Return the response of a call without a result, with a message for the model."""
        return {"status": self.value, "error": message}


FAILURES = (ResponseStatus.ERROR, ResponseStatus.FAILED)
"""Statuses by which a tool says that its work has failed; for the runtime, for pages and for figures."""
_WRITTEN_FAILURES = (ResponseStatus.REJECTED, ResponseStatus.INTERRUPTED, ResponseStatus.STOPPED)


def is_framework_call(event: Event, call: types.FunctionCall) -> bool:
    """Return True if the framework asks the person a question by this call of the event."""
    # A model may make a call of the same name, but only the framework's calls are long-running.
    return call.name in FRAMEWORK_CALLS and event.is_long_running(call.id)


def is_framework_request(event: Event) -> bool:
    """Return True if the framework asks the person a question in this event."""
    return any(is_framework_call(event, call) for call in event.get_function_calls())


def id_of_requested_call(request: types.FunctionCall) -> str | None:
    """Return the id of the call in question in a request of the framework, or None."""
    args = request.args or {}
    found = call_to_confirm(args).get("id") or args.get("functionCallId")
    return found if isinstance(found, str) else None


def response_ids(event: Event) -> set[str]:
    return {response.id for response in event.get_function_responses() if response.id}


def ids_answered_by(message: types.Content) -> set[str | None]:
    """Return the ids of the calls that a message answers."""
    return {response.id for response in responses_in(message)}


def call_ids(event: Event) -> set[str]:
    return {call.id for call in event.get_function_calls() if call.id}


def answered_ids(events: Iterable[Event]) -> set[str]:
    """Return the ids of all calls with at least one response, including pending calls."""
    ids: set[str] = set()
    for event in events:
        ids |= response_ids(event)
    return ids


def find_call_event(events: Sequence[Event], call_id: str, name: str | None = None) -> Event | None:
    """Return the latest event with the call, or None. With a `name`, prefer a call of this function."""
    latest: Event | None = None
    for event in reversed(events):
        for call in event.get_function_calls():
            if call.id != call_id:
                continue
            if name is None or call.name == name:
                return event
            latest = latest or event
    return latest


def find_call(events: Sequence[Event], call_id: str) -> types.FunctionCall | None:
    """Return the latest call with the id, or None."""
    for event in reversed(events):
        for call in event.get_function_calls():
            if call.id == call_id:
                return call
    return None


def find_request(events: Sequence[Event], answer: types.FunctionResponse) -> types.FunctionCall | None:
    """Return the framework's request that the response answers, or None."""
    for event in reversed(events):
        for call in event.get_function_calls():
            if call.id == answer.id and call.name == answer.name and is_framework_call(event, call):
                return call
    return None


def find_pending_call(events: Sequence[Event], call_id: str) -> "MadeCall | None":
    """Return a call with the id that waits for a response from outside; None if there is none."""
    latest = find_call_event(events, call_id)
    if latest is None:
        return None
    since_latest = events[index_of(events, latest) :]
    # Usually the end of the log tells. The whole log is read only for an id that was used again.
    for searched in (since_latest, events):
        for made in made_calls(searched):
            if made.call.id == call_id and made.is_pending:
                return made
    return None


def answered_call_events(events: Sequence[Event], message: types.Content | None) -> list[Event]:
    """Return the events whose calls a user message answers; none without a message."""
    found = []
    for answer in responses_in(message):
        if answer.id:
            event = find_call_event(events, answer.id, answer.name)
            if event is not None:
                found.append(event)
    return found


def events_of_invocation(events: Sequence[Event], invocation_id: str) -> list[Event]:
    """Return the invocation's events, oldest first."""
    return [event for event in events if event.invocation_id == invocation_id]


def trailing_start(events: Sequence[Event], invocation_id: str) -> int:
    """Return the index of the first of the invocation's trailing events; `len(events)` if there are none."""
    start = len(events)
    for index in range(len(events) - 1, -1, -1):
        event = events[index]
        if event.invocation_id == invocation_id:
            start = index
        # Without content it may be an external state change, which does not end the run.
        elif event.content:
            break
    return start


# Not frozen, as an instance takes a third of the time to make: each resume makes those of all calls before.
@dataclass(slots=True)
class Answer:
    """One response to a call.

    Attributes:
        part: the part of the event with the response.
    """

    event: Event
    part: types.Part

    @property
    def ends_wait(self) -> bool:
        """Return True if the response came from outside or reports a failure of the tool."""
        response = self.part.function_response
        return self.event.author == "user" or (response is not None and reports_failure(response.response))


@dataclass(slots=True)
class MadeCall:
    """A function call in a list of events.

    Attributes:
        call: the call; it has an id.
        answers: the responses to it, oldest first.
    """

    event: Event
    call: types.FunctionCall
    answers: list[Answer] = field(default_factory=list)

    @property
    def is_long_running(self) -> bool:
        """Return True if the response may come from outside."""
        return self.event.is_long_running(self.call.id)

    @property
    def waits(self) -> bool:
        """Return True while no response came from outside or reports a failure."""
        for answer in self.answers:
            if answer.ends_wait:
                return False
        return True

    @property
    def is_pending(self) -> bool:
        """Return True while the call is long-running and waits for a response from outside."""
        return self.is_long_running and self.waits

    @property
    def is_answered_again(self) -> bool:
        """Return True if a response came after the wait had ended."""
        return len(self.answers) > 1 and sum(answer.ends_wait for answer in self.answers) > 1

    def latest_answer(self) -> Any:
        """Return the value of the latest response; None without one."""
        if not self.answers:
            return None
        response = self.answers[-1].part.function_response
        return unwrapped(response.response) if response else None

    def is_answered_by(self, event: Event, response: types.FunctionResponse) -> bool:
        """Return True if a later response with the same id names the function and comes from the agent or the user."""
        if response.name != self.call.name:
            return False
        if event.author == "user":
            return True
        return event.author == self.event.author and event.branch == self.event.branch


class MadeCalls:
    """Calls of consecutive events, each with its responses.

    A response belongs to the latest call before it with the same id, function and agent, or else to the latest call
    with the same id.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.in_order: list[MadeCall] = []
        self._by_id: dict[str, list[MadeCall]] = {}
        self._may_wait: list[MadeCall] = []
        self.add(events)

    def add(self, events: Iterable[Event]) -> None:
        """Add the calls of the following events, and their responses to all calls."""
        for event in events:
            if event.content is None:
                continue
            for part in event.content.parts or ():
                call = part.function_call
                response = part.function_response
                if call and call.id:
                    made = MadeCall(event, call)
                    self.in_order.append(made)
                    self._by_id.setdefault(call.id, []).append(made)
                    if made.is_long_running:
                        self._may_wait.append(made)
                elif response and response.id in self._by_id:
                    candidates = self._by_id[response.id]
                    answered = candidates[-1]
                    if len(candidates) > 1:
                        answered = _find_answered(candidates, event, response) or answered
                    answered.answers.append(Answer(event, part))

    def pending(self) -> list[MadeCall]:
        """Return the calls that wait for a response from outside, oldest first."""
        self._may_wait = [made for made in self._may_wait if made.waits]
        return list(self._may_wait)

    def waits(self, call_id: str) -> bool:
        """Return True if a call with the id waits, see `MadeCall.waits`."""
        return any(made.waits for made in self._by_id.get(call_id, ()))


def made_calls(events: Iterable[Event]) -> list[MadeCall]:
    """Return the calls in the order of the events, each with its responses."""
    return MadeCalls(events).in_order


def may_answer_calls_before(events: Iterable[Event], ids: Container[str]) -> bool:
    """Return True if the events may answer an earlier call with an id in `ids`."""
    by_id: dict[str, list[MadeCall]] = {}
    for event in events:
        for part in parts_of(event):
            call = part.function_call
            response = part.function_response
            if call and call.id in ids:
                by_id.setdefault(call.id or "", []).append(MadeCall(event, call))
            elif response and response.id in ids:
                candidates = by_id.get(response.id or "", [])
                # A response of the user always counts: it may belong to a call of another agent, not in `ids`.
                if event.author == "user" or not _find_answered(candidates, event, response):
                    return True
    return False


def unwrapped(response: dict[str, Any] | None) -> Any:
    """Return the value in a response: tools and clients wrap a value that is no object in `{"result": value}`."""
    if response and response.keys() == {"result"}:
        return response["result"]
    return response


def reports_failure(response: dict[str, Any] | None) -> bool:
    """Return True if the response reports a failure, so the call does not stay pending (contract T5)."""
    if response is None:
        return False
    status = response.get("status")
    if status in FAILURES:
        return True
    # A tool may use a status such as "stopped" with another meaning: only with an `error` it is a failure.
    return bool(response.get("error")) and status in _WRITTEN_FAILURES


def has_pending_calls(events: Sequence[Event]) -> bool:
    """Return True if a long-running call has no response from outside yet."""
    return bool(MadeCalls(events).pending())


def unanswered_calls(events: Sequence[Event]) -> list[types.FunctionCall]:
    """Return the long-running calls without any response, including the framework's questions to the person."""
    return [made.call for made in made_calls(events) if made.is_long_running and not made.answers]


def parts_of(event: Event) -> list[types.Part]:
    return parts_in(event.content)


def _find_answered(
    calls: Sequence[MadeCall], event: Event, response: types.FunctionResponse
) -> MadeCall | None:
    # Latest first, because a model may use an id again.
    for made in reversed(calls):
        if made.is_answered_by(event, response):
            return made
    return None


def with_call_seconds(event: Event, seconds: Mapping[str, float]) -> Event:
    """Record the durations of the answered calls, by call id; return the event."""
    rounded = {call_id: round(value, 3) for call_id, value in seconds.items()}
    event.custom_metadata = {**(event.custom_metadata or {}), SECONDS_KEY: rounded}
    return event


def call_seconds(event: Event, call_id: str) -> float | None:
    """Return the duration of an answered call of the event; None if it was not recorded."""
    recorded = (event.custom_metadata or {}).get(SECONDS_KEY)
    if not isinstance(recorded, Mapping):
        return None
    seconds = recorded.get(call_id)
    return float(seconds) if isinstance(seconds, int | float) else None
