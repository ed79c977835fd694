"""RemoteClient: connection to a remote agent for a turn; its failures are `RemoteAgentError`.

A turn sends a message and reads a stream. If the stream breaks off while the remote task still runs, `follow` polls
the task. A remote agent is not trusted: a hook limits the bytes of a response before the SDK reads it.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from copy import copy
from typing import Any

import httpx
import httpx2
from a2a.client import ClientConfig, ClientFactory
from a2a.client.client import Client, ClientCallContext
from a2a.client.errors import A2AClientError, A2AClientTimeoutError
from a2a.types import AgentCard, CancelTaskRequest, GetTaskRequest, SendMessageRequest, StreamResponse, Task
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import A2AError
from google.protobuf.json_format import ParseError

from runtime.a2a.errors import (
    REFUSED,
    TOO_LARGE,
    TOO_SLOW,
    UNREACHABLE,
    UNREADABLE,
    AgentCardResolutionError,
    RemoteAgentError,
)
from runtime.a2a.reply import MAX_BYTES
from runtime.http_bodies import BodyTooLargeError
from runtime.httpx_bodies import limit_body
from runtime.models.loop_clients import ssl_context

logger = logging.getLogger(__name__)
CANCEL_SECONDS = 5.0
POLL_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
MAX_FAILED_POLLS = 15
"""Polls in a row, in about a minute, that reach no server before it is given up: a restart takes less."""
# protobuf raises SystemError for a name with half a surrogate pair.
_PARSE_ERRORS = (
    ParseError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    RecursionError,
    SystemError,
    httpx2.DecodingError,
)


class RemoteClient:
    """Send the messages of a turn and follow their task."""

    def __init__(self, client: Client, headers: Mapping[str, str]) -> None:
        self._client = client
        self._context = ClientCallContext(service_parameters=dict(headers))

    async def send(self, request: SendMessageRequest) -> AsyncGenerator[StreamResponse, None]:
        """Send a message and yield the items of the answer.

        Raises:
            RemoteAgentError: the agent cannot be reached, or its answer is unreadable.
        """
        with translated_failures():
            stream: Any = self._client.send_message(request, context=self._context)
            async with aclosing(stream) as items:
                async for item in items:
                    yield item

    async def follow(self, task_id: str) -> AsyncGenerator[Task, None]:
        """Poll a task whose stream has broken off, and yield its state each time. The server may be restarting.

        Raises:
            RemoteAgentError: the agent cannot be reached, or its answer is unreadable.
        """
        # Short delays first, so a quick answer is shown soon.
        delays = iter(POLL_SECONDS)
        failed_polls = 0
        while True:
            try:
                with translated_failures():
                    task = await self._client.get_task(GetTaskRequest(id=task_id), context=self._context)
            except RemoteAgentError as error:
                failed_polls += 1
                if error.code != UNREACHABLE or failed_polls == MAX_FAILED_POLLS:
                    raise
            else:
                failed_polls = 0
                yield task
            await asyncio.sleep(next(delays, POLL_SECONDS[-1]))

    async def cancel(self, task_id: str) -> None:
        """Ask the remote agent to stop a task; only log a failure."""
        # Called when the turn has already ended, so nobody waits for the answer.
        try:
            with translated_failures():
                request = CancelTaskRequest(id=task_id)
                # An unresponsive agent must not hold up the end of our turn.
                await asyncio.wait_for(
                    self._client.cancel_task(request, context=self._context), CANCEL_SECONDS
                )
        except RemoteAgentError as error:
            logger.warning("The remote task %s was not cancelled: %s", task_id, error.detail)


@asynccontextmanager
async def http_client(given: httpx.AsyncClient | None, seconds: float) -> AsyncIterator[httpx.AsyncClient]:
    """Yield the given client, or a new client for this turn."""
    if given is not None:
        # A copy shares the connections; the hook is not for what the author's other code does with the client.
        client = copy(given)
        hooks = given.event_hooks
        client.event_hooks = {**hooks, "response": [_limit_body, *hooks["response"]]}
        yield client
        return
    # Not kept for later turns: a connection works only in the event loop that opened it.
    async with httpx.AsyncClient(
        verify=ssl_context(), timeout=seconds, event_hooks={"response": [_limit_body]}
    ) as client:
        yield client


async def _limit_body(response: httpx.Response) -> None:
    limit_body(response, 2 * MAX_BYTES)  # JSON takes more bytes than the content in it.


def connect(factory: ClientFactory | None, card: AgentCard, http: httpx.AsyncClient) -> Client:
    """Return the SDK's client for a card.

    Raises:
        AgentCardResolutionError: the card offers no protocol supported by the client.
    """
    config = ClientConfig(
        httpx_client=http,
        supported_protocol_bindings=[TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON],
    )
    try:
        client: Client = (factory or ClientFactory(config)).create(card)
    except ValueError as error:
        raise AgentCardResolutionError(f"The agent card {card.name!r} cannot be used: {error}") from error
    return client


@contextmanager
def translated_failures() -> Generator[None, None, None]:
    """Raise `RemoteAgentError` for exceptions of the SDK and the HTTP client."""
    try:
        yield
    except (TimeoutError, A2AClientTimeoutError, httpx.TimeoutException) as error:
        raise RemoteAgentError(TOO_SLOW, _detail(error)) from error
    except (httpx.HTTPError, A2AClientError) as error:
        # The SDK wraps network errors in its own exception.
        cause = error if isinstance(error, httpx.HTTPError) else error.__cause__
        raise RemoteAgentError(_code_of(cause), _detail(error)) from error
    except BodyTooLargeError as error:
        raise RemoteAgentError(TOO_LARGE, str(error)) from error
    except A2AError as error:
        raise RemoteAgentError(REFUSED, _detail(error)) from error
    except AgentCardResolutionError as error:
        raise RemoteAgentError(UNREADABLE, str(error)) from error
    # The SDK lets protobuf's exceptions for malformed answers through.
    except _PARSE_ERRORS as error:
        raise RemoteAgentError(UNREADABLE, _detail(error)) from error


def _code_of(cause: BaseException | None) -> str:
    if isinstance(cause, httpx.HTTPStatusError):
        status = cause.response.status_code
        # A wrong key or address stays wrong, other than a server that is busy or down.
        if cause.response.is_client_error and status != httpx.codes.TOO_MANY_REQUESTS:
            return REFUSED
    return UNREACHABLE if isinstance(cause, httpx.HTTPError) else UNREADABLE


def _detail(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:2_000]
