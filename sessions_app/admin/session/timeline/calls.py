"""Function calls of a session's page, with their confirmation requests, answers and outcomes.

All functions take an event's JSON of any shape: clients may append odd events, and these must not take down the page.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from runtime.events.calls import REQUEST_CONFIRMATION, SECONDS_KEY
from runtime.events.tool_confirmation import call_to_confirm
from sessions_app.base.codec import json_object
from sessions_app.history.call_state import CallState, state_of, waits
from sessions_app.models import Event, ToolJob
from sessions_app.models.actor_columns import ActorColumns
from sessions_app.rendering.audit_values import excerpt, format_duration, one_line_json

MAX_ARGUMENT_BYTES = 16_384
"""Size of the largest arguments that a list reads."""
PartName = Literal["functionCall", "functionResponse"]


@dataclass(frozen=True)
class CallResponse:
    """A response to a call.

    Attributes:
        state: `PENDING` if another response is to follow; `APPROVED` or `REJECTED` for an answer to a confirmation
            request.
        seconds: recorded duration of the call; None without a record.
        name: name of the function; empty in a response read with its event.
    """

    seq: int
    at: datetime | None
    result: str
    state: CallState
    seconds: float | None = None
    name: str = ""


@dataclass(frozen=True)
class CallView:
    """A call with its answers and its outcome.

    Attributes:
        title: the call as Python would write it.
        answers: responses to the call, oldest first.
        confirmations: the answers to the confirmation request, oldest first; None without a request.
        confirmer: row with the actor of the last confirmation; None when the page does not show its event.
    """

    title: str
    made_at: datetime | None
    answers: Sequence[CallResponse]
    confirmations: Sequence[CallResponse] | None
    job: ToolJob | None
    confirmer: ActorColumns | None = None

    @property
    def confirmation(self) -> CallResponse | None:
        """The last answer to the confirmation request."""
        if not self.confirmations:
            return None
        return self.confirmations[-1]

    @property
    def outcome(self) -> CallResponse | None:
        """The last response, unless another response is to follow."""
        if not self.answers or self.answers[-1].state == CallState.PENDING:
            return None
        return self.answers[-1]

    @property
    def state(self) -> str:
        """Outcome in a word: a `CallState`, or the `JobStatus` of a job whose answer is to follow."""
        if self.outcome:
            return self.outcome.state
        if self.job:
            return self.job.status
        if self.answers or self.confirmations is not None:
            return CallState.PENDING
        return CallState.UNANSWERED

    @property
    def duration(self) -> str:
        """Recorded duration of the call, or the time from the call to its result; empty without a result."""
        if self.outcome is None:
            return ""
        if self.outcome.seconds is not None:
            return format_duration(timedelta(seconds=self.outcome.seconds))
        if self.outcome.at is None or self.made_at is None:
            return ""
        return format_duration(self.outcome.at - self.made_at)


def parts_in_json(body: object) -> list[dict[str, Any]]:
    """Return the parts of an event's content, in order."""
    parts = json_object(body, "content").get("parts")
    if not isinstance(parts, list):
        return []
    return [part for part in parts if isinstance(part, dict)]


def parse_object(text: str | None) -> Mapping[str, Any]:
    """Return a JSON object; an empty one for JSON that Python cannot parse, or that PostgreSQL has left out."""
    try:
        return json_object(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return {}


def call_ids_in_json(body: object, key: PartName) -> list[str]:
    """Return the call ids of the event's function calls or function responses."""
    found = (json_object(part, key).get("id") for part in parts_in_json(body))
    return [call_id for call_id in found if call_id and isinstance(call_id, str)]


def confirmation_requests(body: object) -> dict[str, str]:
    """Return the ids of the calls to confirm, by the id of the confirmation request in the event."""
    asked: dict[str, str] = {}
    # A model may make a call of the same name, but only the framework's calls are long-running.
    long_running = json_object(body).get("longRunningToolIds")
    if not isinstance(long_running, list):
        return asked
    for part in parts_in_json(body):
        request = json_object(part, "functionCall")
        request_id = request.get("id")
        if request.get("name") != REQUEST_CONFIRMATION or request_id not in long_running:
            continue
        call_id = call_to_confirm(json_object(request, "args")).get("id")
        if isinstance(request_id, str) and call_id and isinstance(call_id, str):
            asked[request_id] = call_id
    return asked


def answers_in(event: Event, body: object) -> Iterator[tuple[str, CallResponse]]:
    """Yield the answers of an event with the ids of their calls."""
    durations = json_object(body, "customMetadata", SECONDS_KEY)
    for part in parts_in_json(body):
        response = json_object(part, "functionResponse")
        call_id = response.get("id")
        if not call_id or not isinstance(call_id, str):
            continue
        given = response.get("response")
        state = answer_state(event.author, response.get("name"), given)
        seconds = None
        took = durations.get(call_id)
        if isinstance(took, int | float):
            seconds = float(took)
        yield call_id, CallResponse(event.seq, event.happened_at, _on_one_line(given), state, seconds)


def _on_one_line(response: object) -> str:
    try:
        return excerpt(one_line_json(response))
    except RecursionError:  # PostgreSQL stores deeper JSON than Python writes
        return "…"


def answer_state(author: str, name: object, response: object) -> CallState:
    """Return the state of a call of the function `name` with this response of the author."""
    given = json_object(response)
    # The runtime answers a call of this name that a model has made: its error is no answer of a person.
    if name == REQUEST_CONFIRMATION and author == "user":
        return CallState.APPROVED if given.get("confirmed") is True else CallState.REJECTED
    return CallState.PENDING if waits(given) else state_of(given)
