"""RemoteA2aAgent: an agent of another server, called by the Agent-to-Agent protocol (contract A10).

    card -> client -> send message -> stream of texts, files, states -> answer
                           |               |
                           |               +-- stream breaks: follow the task until it ends
                           +-- a resumed invocation follows the recorded task and sends nothing

The remote server remembers the conversation. The metadata of the answer's event hold its id, so the next turn sends
only the new part of the session.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import httpx
from pydantic import ConfigDict, PrivateAttr

from runtime import _platform, types
from runtime.a2a import AgentCard, ClientFactory, Message, SendMessageRequest
from runtime.a2a.cards import check_card, fetch_card, is_address, read_card
from runtime.a2a.closing_event import closing_event, failed_event
from runtime.a2a.errors import (
    NOTHING_TO_SEND,
    TOO_SLOW,
    UNREACHABLE,
    UNREADABLE,
    AgentCardResolutionError,
    RemoteAgentError,
)
from runtime.a2a.parts import ToA2a, ToGenai, to_a2a, to_genai
from runtime.a2a.remote_client import RemoteClient, connect, http_client, translated_failures
from runtime.a2a.reply import Reply
from runtime.a2a.request import STATE, ContextBuilder, build_message, find_remote_conversation, open_question
from runtime.agents.base_agent import BaseAgent, BaseAgentState
from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_schemes import AuthScheme
from runtime.auth.placement import place
from runtime.context import InvocationContext, ReadonlyContext
from runtime.engine.resume.agent_progress import own_events
from runtime.errors import ConfigurationError
from runtime.events.calls import ResponseStatus
from runtime.events.event import Event, index_of
from runtime.tools.header_provider import HeaderProvider, provided_headers
from runtime.trace_context import trace_headers

AGENT_CARD_WELL_KNOWN_PATH = "/.well-known/agent-card.json"
DEFAULT_TIMEOUT = 600.0
CARD_SECONDS = 300.0
"""Seconds after which a card is read again."""
EXTENSIONS = {"A2A-Extensions": "https://google.github.io/adk-docs/a2a/a2a-extension/"}
"""Header that asks servers of google-adk for streamed artifacts in place of status messages."""
UNSUPPORTED = {
    "config": "Give genai_part_converter, a2a_part_converter, context_builder, a2a_request_meta_provider and "
    "header_provider in place of its converters and interceptors.",
    "credential_key": "The auth_credential is sent as it is, and nothing is stored. Leave the key out.",
    "mode": "Leave it out, and make the agent a sub-agent, or a tool by AgentTool.",
}
"""Unsupported parameters of google-adk's agent, each with a remedy."""
PASSED_OVER = "The person wrote a message instead."
RequestMetadata = Callable[[InvocationContext, Message], dict[str, Any]]

__all__ = ["AGENT_CARD_WELL_KNOWN_PATH", "DEFAULT_TIMEOUT", "AgentCardResolutionError", "RemoteA2aAgent"]


class RemoteTaskState(BaseAgentState):
    """Running remote task. A resumed invocation waits for the task instead of sending the message again."""

    task_id: str
    context_id: str


class RemoteA2aAgent(BaseAgent):
    """Agent of another server, called by the Agent-to-Agent protocol.

    Its streamed text becomes partial events, its answer an event, its files artifacts of the session. A task that
    waits for input asks the person. The next turn continues the remote conversation.

    Attributes:
        agent_card: the card, or its URL, or the path of a file with it.
        description: purpose of the agent; by default the description in a card given as an object.
        httpx_client: HTTP client to use, bound to one event loop; by default each turn opens a new client. The size of
            answers is limited with both.
        timeout: seconds of silence of the remote agent, and seconds for a task to end after a broken connection.
        genai_part_converter: converts a part of the session to any number of parts of a message.
        a2a_part_converter: converts a part from the remote agent to the parts of an answer.
        full_history_when_stateless: True to send all events of the session each time to a remote agent without memory
            of the conversation.
        context_builder: called with the context, the agent's name and the converter; returns the parts of the message
            and the id of the remote conversation. Answers to questions of the remote agent are sent without it.
        a2a_client_factory: the SDK's factory of clients, for other transports.
        a2a_request_meta_provider: called with the context and the message; returns the metadata of the request.
        auth_scheme: place of the credential in requests.
        auth_credential: credential to send with each request, as a header.
        header_provider: called with the context before each turn; returns headers, such as the person's token.
        use_legacy: False to ask a server of google-adk for its newer way of streaming. Other servers ignore the flag.

    Raises:
        ConfigurationError: the credential cannot be sent as a header, the card names no address, or a parameter of
            google-adk's agent is not supported.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    agent_card: AgentCard | str
    httpx_client: httpx.AsyncClient | None = None
    timeout: float = DEFAULT_TIMEOUT
    genai_part_converter: ToA2a = to_a2a
    a2a_part_converter: ToGenai = to_genai
    full_history_when_stateless: bool = False
    context_builder: ContextBuilder | None = None
    a2a_client_factory: ClientFactory | None = None
    a2a_request_meta_provider: RequestMetadata | None = None
    auth_scheme: AuthScheme | None = None
    auth_credential: AuthCredential | None = None
    header_provider: HeaderProvider | None = None
    use_legacy: bool = True
    _fetched: tuple[float, AgentCard] | None = PrivateAttr(default=None)

    def __init__(self, name: str, agent_card: AgentCard | str, **fields: Any) -> None:
        card = agent_card.strip() if isinstance(agent_card, str) else agent_card
        for parameter, remedy in UNSUPPORTED.items():
            if fields.pop(parameter, None) is not None:
                raise ConfigurationError(f"Agent {name!r} cannot have {parameter!r}: {remedy}")
        fields.update(name=name, agent_card=card)
        super().__init__(**fields)

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        # Raises here and not in the first turn if the credential cannot be sent as a header.
        self._credential_headers()
        if isinstance(self.agent_card, AgentCard):
            self.description = self.description or check_card(self.agent_card, self.name).description
        elif not self.agent_card:
            raise ConfigurationError(f"Agent {self.name!r} needs an agent_card: a card, a URL or a path.")

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        state, is_done = self._progress(ctx)
        if is_done:
            return
        reply = Reply(convert=self.a2a_part_converter)
        event_id = _platform.new_id()
        if state is not None:
            reply.task_id = state.task_id
            reply.context_id = state.context_id
        try:
            async with aclosing(self._talk_to_agent(ctx, reply, event_id)) as events:
                async for event in events:
                    yield event
            yield closing_event(reply, event_id)
        except RemoteAgentError as error:
            yield failed_event(error, reply, event_id)

    def _progress(self, ctx: InvocationContext) -> tuple[RemoteTaskState | None, bool]:
        """Return the running task of an interrupted attempt, and True if the attempt already had its answer."""
        if not ctx.resuming:
            return None, False
        own = own_events(ctx)
        if not own:
            return None, False
        latest = own[-1]
        if latest.actions.agent_state is not None:
            return RemoteTaskState.model_validate(latest.actions.agent_state), False
        events = ctx.events()
        has_answer = STATE in (latest.custom_metadata or {})
        for event in events[index_of(events, latest) :]:
            # An answer of the user to a question of the remote agent, which has to be sent.
            if event.author == "user":
                has_answer = False
        return None, has_answer

    async def _talk_to_agent(
        self, ctx: InvocationContext, reply: Reply, event_id: str
    ) -> AsyncGenerator[Event, None]:
        """Talk to the remote agent until the reply has ended; yield the events before the last.

        Cancel the remote task if it has not ended at the end of this generator.
        """
        async with http_client(self.httpx_client, self.timeout) as http:
            client = await self._connect(ctx, http)
            try:
                if reply.task_id:
                    await self._follow(client, reply)
                    # An interrupted attempt cancels its task: the message then has to be sent again.
                    reply.forget_canceled_task()
                if not reply.has_ended:
                    async with aclosing(self._send(ctx, client, reply, event_id)) as events:
                        async for event in events:
                            yield event
                    await self._follow(client, reply)
            finally:
                # Also after a cancelled invocation: nobody would read the answer of the remote task (contract A10).
                if reply.task_id and not reply.has_ended:
                    await client.cancel(reply.task_id)

    async def _send(
        self, ctx: InvocationContext, client: RemoteClient, reply: Reply, event_id: str
    ) -> AsyncGenerator[Event, None]:
        """Send the new part of the session; yield the answer's text as it arrives."""
        known = find_remote_conversation(ctx, full_history_when_stateless=self.full_history_when_stateless)
        if question := open_question(known):
            yield _passed_over_event(question)
        message = await build_message(ctx, known, self.genai_part_converter, self.context_builder)
        if message is None:
            raise RemoteAgentError(NOTHING_TO_SEND)
        request = SendMessageRequest(message=message)
        if self.a2a_request_meta_provider:
            request.metadata.update(self.a2a_request_meta_provider(ctx, message))
        must_record_task = ctx.is_resumable
        try:
            async with aclosing(client.send(request)) as items:
                async for item in items:
                    texts = reply.add(item)
                    if reply.task_id and must_record_task:
                        # Recorded once the server has named the task: a message sent again would start a second task.
                        must_record_task = False
                        task = RemoteTaskState(task_id=reply.task_id, context_id=reply.context_id)
                        ctx.set_agent_state(self.name, agent_state=task)
                        yield self._create_agent_state_event(ctx)
                    if texts:
                        content = types.Content(role="model", parts=texts)
                        yield Event(id=event_id, partial=True, content=content)
        except RemoteAgentError as error:
            # The task does not end with the connection, or with the process that has served the stream.
            if error.code != UNREACHABLE or not reply.task_id:
                raise

    async def _follow(self, client: RemoteClient, reply: Reply) -> None:
        """Wait for the end of the task if the stream ended or broke first.

        Raises:
            RemoteAgentError: the task has not ended in time, or there is no task to wait for.
        """
        if reply.has_ended:
            return
        if not reply.task_id:
            raise RemoteAgentError(UNREADABLE, "The answer holds neither a message nor a task.")
        try:
            async with asyncio.timeout(self.timeout), aclosing(client.follow(reply.task_id)) as states:
                async for task in states:
                    reply.add_task(task)
                    if reply.has_ended:
                        return
        except TimeoutError as error:
            detail = f"The task {reply.task_id!r} had not ended after {self.timeout:g} s."
            raise RemoteAgentError(TOO_SLOW, detail) from error

    async def _connect(self, ctx: InvocationContext, http: httpx.AsyncClient) -> RemoteClient:
        headers = {
            **trace_headers(),
            **({} if self.use_legacy else EXTENSIONS),
            **self._credential_headers(),
            **await provided_headers(self.header_provider, ReadonlyContext(ctx)),
        }
        with translated_failures():
            card = await self._load_card(http, headers)
            return RemoteClient(connect(self.a2a_client_factory, card, http), headers)

    async def _load_card(self, http: httpx.AsyncClient, headers: dict[str, str]) -> AgentCard:
        """Return the card. Read a card given by URL or path at the first call, and again after `CARD_SECONDS`."""
        if isinstance(self.agent_card, AgentCard):
            return self.agent_card
        now = _platform.now()
        if self._fetched is None or now - self._fetched[0] > CARD_SECONDS:
            is_url = is_address(self.agent_card)
            card = await fetch_card(http, self.agent_card, headers) if is_url else read_card(self.agent_card)
            self._fetched = now, card
        return self._fetched[1]

    def _credential_headers(self) -> dict[str, str]:
        """Return the headers of the agent's own credential.

        Raises:
            ConfigurationError: the credential is not sent as a header.
        """
        if self.auth_credential is None:
            return {}
        placed = place(self.auth_scheme, self.auth_credential)
        if placed is None or not placed.headers:
            raise ConfigurationError(
                f"The auth_credential of agent {self.name!r} cannot be sent as a header. Give a key or a token, or "
                "headers by a header_provider."
            )
        return placed.headers


def _passed_over_event(question: types.FunctionCall) -> Event:
    """Return the event that ends a question of the remote agent without an answer."""
    response = types.FunctionResponse(
        id=question.id, name=question.name, response=ResponseStatus.ERROR.with_error(PASSED_OVER)
    )
    return Event(content=types.Content(role="user", parts=[types.Part(function_response=response)]))
