"""Execution of requests by use cases: a message, answers, changes of the state.

The messages and the state of a client are hints. History is read from the log: of the messages only the last one counts
if the person wrote it, and the results of the client's tools behind the last message of the agent. A request without
anything new follows the thread.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid5

from ag_ui.core import AssistantMessage, ResumeEntry, RunAgentInput, ToolMessage, UserMessage
from django.contrib.auth.models import AbstractBaseUser
from django.http import QueryDict

from runtime.events.calls import FRAMEWORK_CALLS, REQUEST_CREDENTIAL, MadeCall, ResponseStatus, made_calls
from runtime.tools.client_toolset import CLIENT_TOOLS, MAX_TOOLS, client_functions
from sessions_app import use_cases
from sessions_app.api.json_bodies import parse_model
from sessions_app.api.stream_server import StreamRequest
from sessions_app.contrib.ag_ui.event_frames import CLIENT_CONTEXT, HIDDEN_KEYS
from sessions_app.contrib.ag_ui.interrupts import call_answer, question_answer, question_in
from sessions_app.contrib.ag_ui.messages import CLIENT_ID, client_id_of, message_id_in
from sessions_app.contrib.ag_ui.place import Place
from sessions_app.contrib.ag_ui.thread_stream import RunOfClient, ThreadStream
from sessions_app.data_protection.transcripts.session_json import state_of_user
from sessions_app.errors import InvalidInputError, NotFoundError
from sessions_app.history.effective_events import effective_events
from sessions_app.history.invocation_events import log_position_before
from sessions_app.invocations.answers.answering import find_answer
from sessions_app.invocations.state_delta import check_change
from sessions_app.models import Invocation, InvocationStatus, Scope, Session, ToolJob
from sessions_app.process.threads import fetch_rows, in_thread
from sessions_app.sessions.agent_access import usable_app
from sessions_app.sessions.ownership import NO_SESSION
from sessions_app.store.packs import open_if_packed
from sessions_app.store.uploads import FileName, check_file_count
from sessions_app.use_cases import upload_bytes

_THREAD_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RUN_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_MESSAGE_ID = re.compile(r"[A-Za-z0-9_.:-]{1,80}", re.ASCII)
_ENDED_BADLY = (InvocationStatus.FAILED, InvocationStatus.CANCELLED)


async def begin_run(request: StreamRequest) -> ThreadStream:
    """Do what the request asks for, once, and return the stream of its run.

    Raises:
        ValidationError: the body is no input of AG-UI.
        InvalidInputError: an id, a message, an answer or a tool cannot be used.
        NotFoundError: the person has no such thread with the app, or may use no such app.
        PermissionDeniedError: the key lacks a scope, or the person may not give an answer.
        ConflictError: an interrupt was answered differently.
    """
    given = parse_model(RunAgentInput, request.body)
    request.caller.require(Scope.READ)  # The stream has the whole thread.
    place = Place.parse(request.headers.get("last-event-id", ""))
    user_id = QueryDict(request.query).get("user_id")
    user = await request.caller.acting_for(user_id) if user_id else request.caller.user
    return await _Request(request, given, user, _thread_id(given), _run_id(given)).begin(place)


@dataclass
class _Request:
    """A request while it is done.

    Attributes:
        roots: invocations of the run, by primary key.
        tries: number of invocations that the message has begun.
    """

    request: StreamRequest
    given: RunAgentInput
    user: AbstractBaseUser
    session_id: UUID
    run_id: str
    roots: dict[int, Invocation] = field(default_factory=dict)
    tries: int = 0

    async def begin(self, place: Place | None) -> ThreadStream:
        session = await self._find_session()
        before = session.last_seq if session else 0
        message = self._message()
        known = None
        if session is not None and message is not None:
            known = await self._find_sent(message)
        is_same_run = known is not None and known.invocation_id == self._invocation_id(message)
        if session is not None:
            delta: dict[str, Any] = {}
            if not is_same_run:  # A repeated request has made its changes of the state.
                delta = await self._state_changes(session)
            await self._answer_all(session, delta)
        elif self.given.resume:
            raise NotFoundError(NO_SESSION)
        if known is not None and (is_same_run or not self.roots):
            self.roots[known.pk] = known
        elif message is not None and known is None:
            await self._send(message, session)
        session = session or await self._find_session()
        if session is None:
            raise NotFoundError(NO_SESSION)
        roots = [self.roots[pk] for pk in sorted(self.roots)]
        after = before
        if roots:
            after = min([await log_position_before(row) for row in roots])
        elif place is not None:  # Nothing new, and the client has been here before.
            after = place.seq if place.is_opening else place.seq - 1
        return ThreadStream(RunOfClient(self.run_id, session, roots, after, self._result_ids()), place)

    async def _find_session(self) -> Session | None:
        own = Session.objects.owned_by(self.user).filter(pk=self.session_id)
        session = await in_thread(own.first)
        if session is None:
            return None
        if session.app_name != self.app_name:
            raise NotFoundError(NO_SESSION)
        await open_if_packed(session)
        return session

    @property
    def app_name(self) -> str:
        name: str = self.request.values["app_name"]
        return name

    # The person's message

    def _message(self) -> UserMessage | None:
        """Return the message to send: the last one, if the person wrote it."""
        last = self.given.messages[-1] if self.given.messages else None
        if not isinstance(last, UserMessage):
            return None
        _check_id("messages", last.id, _MESSAGE_ID)
        return last

    def _invocation_id(self, message: UserMessage | None) -> str:
        """Return the id of the invocation that this run begins for the message: a repeated request finds it by that."""
        message_id = message.id if message else ""
        return f"e-{uuid5(self.session_id, f'{self.run_id}:{message_id}')}"

    async def _find_sent(self, message: UserMessage) -> Invocation | None:
        """Return the invocation of a message that was sent before; None for a message to send.

        A client whose agent has only asked a question repeats its message, as the last one, with the answer. So does a
        client that has lost a run and begins another. Only a failed or cancelled run is begun again by another run.
        """
        sent = Invocation.objects.filter(session=self.session_id, client_id__startswith=CLIENT_ID)
        sent = sent.filter(client_id__endswith=f":{message.id}").order_by("-pk")
        rows = await fetch_rows(sent.without_details())
        rows = [row for row in rows if message_id_in(row.client_id) == message.id]
        self.tries = len(rows)
        for row in rows:
            if row.invocation_id == self._invocation_id(message):
                return row
        if rows and (self.given.resume or rows[0].status not in _ENDED_BADLY):
            return rows[0]
        return None

    async def _send(self, message: UserMessage, session: Session | None) -> None:
        client_id = client_id_of(message.id, self.tries)
        caller = self.request.caller
        caller.require(Scope.RUN)
        text, files = _content_of(message)
        check_file_count(len(files))
        network = caller.network
        delta = await self._state_changes(session)
        new_app = ""
        chat: UUID | use_cases.NewChat = self.session_id
        if session is None:
            new_app = self.app_name
            chat = use_cases.NewChat(self.session_id, new_app, network)
            # The first upload creates the thread: a message that is refused later would leave it empty.
            await usable_app(self.user, new_app)
            await check_change(new_app, self.user.pk, None, delta)
        names: list[FileName] = []
        for number, data in enumerate(files, start=1):
            names.append(
                await upload_bytes(
                    self.user, self.session_id, f"file-{number}", data, network, new_app=new_app
                )
            )
        admitted = await use_cases.send_message(
            caller.actor_for(self.user),
            chat,
            client_id,
            text,
            names,
            state_delta=delta,
            invocation_id=self._invocation_id(message),
        )
        await self._add_root(admitted.invocation_id)

    async def _add_root(self, invocation_id: str) -> None:
        rows = Invocation.objects.filter(session=self.session_id, invocation_id=invocation_id)
        row = await in_thread(rows.first)
        if row is not None:
            self.roots[row.pk] = row

    # Answers

    def _results(self) -> dict[str, ToolMessage]:
        """Return the results behind the last message of the agent, by call."""
        results: dict[str, ToolMessage] = {}
        for message in reversed(self.given.messages):
            if isinstance(message, AssistantMessage):
                break
            if isinstance(message, ToolMessage):
                results[message.tool_call_id] = message
        return results

    def _result_ids(self) -> dict[str, str]:
        """Return the client's ids of all results, by call."""
        results = [message for message in self.given.messages if isinstance(message, ToolMessage)]
        return {message.tool_call_id: message.id for message in results}

    async def _answer_all(self, session: Session, delta: dict[str, Any]) -> None:
        """Give the answers of the request that are not given yet. The first takes the changes of the state along."""
        entries = self.given.resume or []
        results = self._results()
        if not entries and not results:
            return
        calls = {made.call.id or "": made for made in made_calls(await effective_events(session))}
        for call_id, result in results.items():
            made = calls.get(call_id)
            if made is None or made.call.name in FRAMEWORK_CALLS or not made.is_long_running:
                continue  # The result of a tool of the site, which the client repeats.
            response = _result_of(result)
            if made.is_pending or await find_answer(session.pk, call_id, response):
                await self._answer(session, made, response, delta)
        for entry in entries:
            await self._resume(session, entry, calls, delta)

    async def _resume(
        self, session: Session, entry: ResumeEntry, calls: Mapping[str, MadeCall], delta: dict[str, Any]
    ) -> None:
        question = question_in(entry.interrupt_id)
        if question is not None:
            await self._answer_question(session, entry, *question)
            return
        made = calls.get(entry.interrupt_id)
        if made is None:
            raise NotFoundError("There is no such interrupt in this thread.")
        if made.call.name == REQUEST_CREDENTIAL:
            # Given before, perhaps by a sign-in on the site's page, which leaves nothing to send here.
            given = await find_answer(session.pk, entry.interrupt_id, {})
            if given is not None:
                self.roots[given.pk] = given
                return
        response = call_answer(made.call.name or "", made.call.args or {}, entry)
        await self._answer(session, made, response, delta)

    async def _answer(
        self, session: Session, made: MadeCall, response: dict[str, Any], delta: dict[str, Any]
    ) -> None:
        self.request.caller.require(Scope.ANSWER)
        call_id = made.call.id or ""
        given = await find_answer(session.pk, call_id, response)
        if given is not None:
            self.roots[given.pk] = given
            return
        admitted = await use_cases.answer_call(
            self.request.caller.actor_for(self.user),
            session.pk,
            call_id,
            made.call.name,
            response,
            state_delta=delta or None,
            for_site=self.request.caller.is_service,
        )
        delta.clear()
        await self._add_root(admitted.invocation_id)

    async def _answer_question(self, session: Session, entry: ResumeEntry, job_id: UUID, number: int) -> None:
        self.request.caller.require(Scope.ANSWER)
        job = await in_thread(ToolJob.objects.filter(session=session, pk=job_id).first)
        if job is None:
            raise NotFoundError("There is no such interrupt in this thread.")
        by = self.request.caller.actor_for(self.user)
        answer = question_answer(entry)
        if answer is None:
            await use_cases.cancel_job(by, session.pk, job_id)
        elif number >= len(job.answers) or job.answers[number]["answer"] != answer:
            await use_cases.answer_job(by, session.pk, job_id, number, answer)

    # State

    async def _state_changes(self, session: Session | None) -> dict[str, Any]:
        """Return the values of the client's state that differ from the stored state, its tools and its context.

        Values of the person's own state (`user:`) are shown but not taken: a client that was open for long would
        overwrite what other threads have stored.
        """
        current = await in_thread(state_of_user, session) if session else {}
        state = self.given.state or {}
        if not isinstance(state, dict):
            raise InvalidInputError("The state is an object. Leave it out, or send an object.", field="state")
        given = {key: value for key, value in state.items() if not key.startswith(("user:", *HIDDEN_KEYS))}
        given |= self._declared()
        return {key: value for key, value in given.items() if key not in current or current[key] != value}

    def _declared(self) -> dict[str, Any]:
        """Return the tools and the context of the client. Those of the last run stay if the request has none."""
        declared: dict[str, Any] = {}
        if self.given.tools is not None:
            tools = [
                {"name": tool.name, "description": tool.description, "parameters": tool.parameters or {}}
                for tool in self.given.tools
            ]
            usable = client_functions({CLIENT_TOOLS: tools})
            if len(usable) < len(tools):
                raise InvalidInputError(
                    f"A tool cannot be declared. At most {MAX_TOOLS} tools have different names of 1 to 64 letters, "
                    "digits, _ or - that no built-in tool has, at most 4,000 characters of description, and an "
                    "object as parameters.",
                    field="tools",
                )
            declared[CLIENT_TOOLS] = tools
        if self.given.context is not None:
            declared[CLIENT_CONTEXT] = [
                {"description": item.description, "value": item.value} for item in self.given.context
            ]
        return declared


def _thread_id(given: RunAgentInput) -> UUID:
    if not _THREAD_ID.fullmatch(given.thread_id):
        raise InvalidInputError(
            "The threadId is a UUID in lower case, such as that of a chat.", field="threadId"
        )
    return UUID(given.thread_id)


def _run_id(given: RunAgentInput) -> str:
    _check_id("runId", given.run_id, _RUN_ID)
    return given.run_id


def _check_id(name: str, value: str, pattern: re.Pattern[str]) -> None:
    if not pattern.fullmatch(value):
        raise InvalidInputError(
            f"An id has few letters, digits and the characters . _ -; {value[:40]!r} does not match "
            f"{pattern.pattern}.",
            field=name,
        )


def _content_of(message: UserMessage) -> tuple[str, list[bytes]]:
    """Return the text and the files of a message. A file elsewhere is its address in the text."""
    if isinstance(message.content, str):
        return message.content, []
    texts = []
    files = []
    for part in message.content:
        if part.type == "text":
            texts.append(part.text)
        elif part.source.type == "data":
            files.append(_bytes_of(part.source.value))
        else:
            texts.append(part.source.value)
    return "\n".join(texts), files


def _bytes_of(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInputError("The data of a part is no base64.", field="messages") from None


def _result_of(message: ToolMessage) -> dict[str, Any]:
    """Return the result of a client's tool as the response of the call."""
    if isinstance(message.content, str):
        text = message.content
    else:
        text = "\n".join(part.text for part in message.content if part.type == "text")
    if message.error:
        return {**ResponseStatus.ERROR.with_error(message.error), "result": text}
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return {"result": text}
    return values if isinstance(values, dict) else {"result": values}
