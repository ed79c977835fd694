"""`/run` and `/run_sse`, the addresses by which clients of google-adk run an agent.

google-adk's server runs the agent inside of the request. Here a request starts an invocation like any other and
follows its events, so a run continues without its client. A client may send the same request again: with its
`Idempotency-Key`, or for an answer with the same call, the run of the first request is found and followed.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.db.models import QuerySet
from pydantic import field_validator

from runtime import types
from runtime.errors import AdkError
from runtime.models.llm_response import parts_in
from sessions_app import use_cases
from sessions_app.api.access.callers import Caller
from sessions_app.api.access.connections import Stream
from sessions_app.api.adk.adk_encoder import AdkEncoder, AdkListEncoder, error_frame
from sessions_app.api.adk.names import AdkSchema, fields_named
from sessions_app.api.json_bodies import parse_model
from sessions_app.api.run_stream import RunStream
from sessions_app.api.stream_server import ApiStream, StreamRequest, respond_with_list
from sessions_app.base.actors import UserActor
from sessions_app.base.statuses import InvocationStatus
from sessions_app.errors import ConflictError, InvalidInputError, LimitExceededError, NotFoundError
from sessions_app.history.invocation_events import log_position_before
from sessions_app.invocations.answers.answering import find_answer
from sessions_app.live.updates import EndReason
from sessions_app.models import Invocation, Scope
from sessions_app.process.threads import in_thread
from sessions_app.sessions.ownership import OwnSession, find_own_session
from sessions_app.store.uploads import FileName
from sessions_app.use_cases import upload_bytes

FIELDS = {
    **dict.fromkeys(("text", "file", "files", "response", "for_session"), "newMessage"),
    "state_delta": "stateDelta",
    "client_id": "header.Idempotency-Key",
}
"""Names of fields in requests, by their names in use cases."""


@dataclass(frozen=True)
class RefusedRun:
    """Stream with one frame: the error of a run that did not begin."""

    error: AdkError
    user_id: Any
    reason: str = ""

    async def frames(self) -> AsyncGenerator[str]:
        yield error_frame(str(self.error))

    def end(self, reason: EndReason) -> None:
        """Do nothing: the stream ends by itself."""


async def run_sse(request: StreamRequest) -> Stream:
    """Send a message, answer a call or resume a run, and follow the run until it has ended.

    Each `data` is an event. With `streaming`, partial events with the pieces of its text come before it.

    A run continues when the connection breaks: the same request with the same `Idempotency-Key` and a `Last-Event-ID`
    follows it further.
    """
    ask = parse_model(RunRequest, request.body)
    session = await _session_of(request.caller, ask)
    try:
        run_id, after = await _start(request, ask, session)
    except LimitExceededError:
        raise  # 429 with `Retry-After`, by which clients know when to try again.
    except AdkError as error:
        # As google-adk's server reports the errors of a run: its clients expect them in the stream.
        return RefusedRun(error, session.user_id)
    encoder = AdkEncoder(run_id, ask.streaming, splits_artifacts=not ask.function_call_event_id)
    return RunStream(session.pk, session.user_id, encoder, after=after, run_id=run_id)


async def run(request: StreamRequest) -> Stream:
    """Do the same as `/run_sse`, and answer with the list of the run's events when it has ended."""
    ask = parse_model(RunRequest, request.body)
    session = await _session_of(request.caller, ask)
    with fields_named(**FIELDS):
        run_id, after = await _start(request, ask, session)
    encoder = AdkListEncoder(run_id, streams_text=False, splits_artifacts=False)
    return RunStream(session.pk, session.user_id, encoder, after=after, run_id=run_id)


async def _session_of(caller: Caller, ask: "RunRequest") -> OwnSession:
    caller.require(Scope.ANSWER if ask.answers else Scope.RUN)
    return await find_own_session(await caller.acting_for(ask.user_id), ask.app_name, ask.session_id)


async def _start(request: StreamRequest, ask: "RunRequest", session: OwnSession) -> tuple[str, int]:
    """Start the run, or find the run of an earlier request. Return its id, and the `seq` to follow it from."""
    user = await request.caller.acting_for(ask.user_id)
    by = request.caller.actor_for(user)
    last = request.last_event_id
    client_id = request.idempotency_key or uuid4().hex
    # Read before the run starts, so no event of the run is missed.
    after = session.last_seq
    if ask.new_message is None:
        run_id = await _resume(ask, by, session)
        after = await log_position_before(await _run(session, invocation_id=run_id))
    elif known := await _known_run(request, ask, session):
        run_id = known.invocation_id
        after = await log_position_before(known)
    elif ask.answers:
        answer = _only_answer(ask)
        admitted = await use_cases.answer_call(
            by,
            session.pk,
            answer.id or "",
            answer.name or "",
            answer.response or {},
            state_delta=ask.state_delta,
            for_site=request.caller.is_service,
        )
        run_id = admitted.invocation_id
    else:
        files = await _upload(ask.files, user, session, request.caller.network)
        admitted = await use_cases.send_message(
            by, session.pk, client_id, ask.text, files, state_delta=ask.state_delta
        )
        run_id = admitted.invocation_id
    return run_id, after if last is None else last


async def _known_run(request: StreamRequest, ask: "RunRequest", session: OwnSession) -> Invocation | None:
    """Return the run of an earlier request with the same key, or with the same answer to the call; else None."""
    if not request.idempotency_key:
        return None
    if not ask.answers:
        return await in_thread(_runs(session).filter(client_id=request.idempotency_key).first)
    answer = _only_answer(ask)
    # Another answer to the same call is no repetition: it goes to the use case, which refuses it.
    return await find_answer(session.pk, answer.id or "", answer.response or {})


async def _resume(ask: "RunRequest", by: UserActor, session: OwnSession) -> str:
    """Return the id of an active run, or retry a failed run and return its id."""
    if not ask.invocation_id:
        raise InvalidInputError(
            "There is nothing to run. Send newMessage, or the invocationId of a run to resume.",
            field="newMessage",
        )
    row = await _run(session, invocation_id=ask.invocation_id)
    if row.status in InvocationStatus.active():
        return row.invocation_id
    if row.status == InvocationStatus.WAITING:
        raise ConflictError("The run waits for an answer. Send it as a functionResponse.")
    retried = await use_cases.retry(by, session.pk, row.invocation_id)
    return retried.invocation_id


def _runs(session: OwnSession) -> QuerySet[Invocation]:
    return Invocation.objects.filter(session_id=session.pk)


async def _run(session: OwnSession, **names: str) -> Invocation:
    row = await in_thread(_runs(session).filter(**names).first)
    if row is None:
        raise NotFoundError("There is no such run here.")
    return row


def _only_answer(ask: "RunRequest") -> types.FunctionResponse:
    if len(ask.answers) > 1 or ask.text or ask.files:
        raise InvalidInputError(
            "The message answers a call and has other parts, too. Send each by itself.", field="newMessage"
        )
    return ask.answers[0]


async def _upload(blobs: list[types.Blob], user: Any, session: OwnSession, network: str) -> list[FileName]:
    return [
        await upload_bytes(user, session.pk, blob.display_name or "file", blob.data or b"", network)
        for blob in blobs
    ]


_TEXT, _OBJECT = {"type": "string"}, {"type": ["object", "null"]}
_BODY = {
    "type": "object",
    "required": ["appName", "userId", "sessionId"],
    "properties": {
        **dict.fromkeys(("appName", "userId", "sessionId", "invocationId", "functionCallEventId"), _TEXT),
        **dict.fromkeys(("newMessage", "stateDelta"), _OBJECT),
        "streaming": {"type": "boolean"},
    },
    "example": {
        "appName": "help_desk",
        "userId": "ada",
        "sessionId": "s-1",
        "newMessage": {"role": "user", "parts": [{"text": "Hello."}]},
        "streaming": True,
    },
}
_REQUEST = {"required": True, "content": {"application/json": {"schema": _BODY}}}
ADK_STREAMS = (
    ApiStream("adk/run_sse", run_sse, "Run an agent, and send its events", "POST", request_body=_REQUEST),
    ApiStream("adk/run", run, "Run an agent", "POST", respond=respond_with_list, request_body=_REQUEST),
)


class RunRequest(AdkSchema):
    """A message, an answer to a call, or a run to resume.

    Attributes:
        function_call_event_id: event of the call that the message answers. With it no event is split into two frames.
        invocation_id: run to resume when there is no message.
    """

    app_name: str
    user_id: str
    session_id: str
    new_message: types.Content | None = None
    streaming: bool = False
    state_delta: dict[str, Any] | None = None
    function_call_event_id: str | None = None
    invocation_id: str | None = None

    @field_validator("new_message")
    @classmethod
    def _has_sendable_parts(cls, message: types.Content | None) -> types.Content | None:
        for part in parts_in(message):
            if part.text is None and part.inline_data is None and part.function_response is None:
                raise ValueError("A part has text, inlineData or a functionResponse")
        return message

    @property
    def _parts(self) -> list[types.Part]:
        return parts_in(self.new_message)

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self._parts if part.text)

    @property
    def files(self) -> list[types.Blob]:
        return [part.inline_data for part in self._parts if part.inline_data]

    @property
    def answers(self) -> list[types.FunctionResponse]:
        return [part.function_response for part in self._parts if part.function_response]
