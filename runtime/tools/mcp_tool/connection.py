"""One connection to an MCP server, shared by all tasks of an event loop.

    opening -> open -> closed: idle, `close`, or lost
       |
       +-> failed: every pending request raises UnreachableError

The `mcp` client is built on task groups, which must be left by the task that entered them. Invocations come and go in
separate tasks, so a further task opens, holds and closes the connection; requests only use the client. A closed
connection is never opened again: `connections` makes a new object.

The exceptions tell a caller whether it may repeat a request: yes after `SessionEndedError`, because the server has not
looked at the request; only a request that changes nothing after `ConnectionLostError`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from contextvars import Context
from dataclasses import dataclass
from typing import TypeVar

import httpx2
from mcp import Client, MCPError
from mcp.client import Transport
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.client.session import ElicitationFnT, SamplingFnT
from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT, SamplingCapability

from runtime.errors import AdkError
from runtime.http_logs import without_secrets_of_urls
from runtime.tools.mcp_tool.elicitation import cancel_question
from runtime.tools.mcp_tool.sampling import refuse_sample

T = TypeVar("T")
Send = Callable[[Client], Awaitable[T]]

logger = logging.getLogger(__name__)

# Messages of the client and of servers for the status 404. The protocol defines no code for this error.
_SESSION_ENDED = ("Session terminated", "Session not found")


class McpConnectionError(AdkError, ConnectionError):
    """The MCP server cannot be reached."""


class UnreachableError(McpConnectionError):
    """The connection could not be opened."""


class SignInNeededError(UnreachableError):
    """The MCP server has refused a request without a valid token.

    Attributes:
        challenge: the server's answer, whose header `WWW-Authenticate` names what it wants.
    """

    def __init__(self, server: str, challenge: httpx2.Response) -> None:
        super().__init__(
            f"The MCP server {server!r} wants a sign-in: it answered with status {challenge.status_code}."
        )
        self.challenge = challenge

    @property
    def wants_token(self) -> bool:
        """True if another token may help; False if the token lacks scopes."""
        return self.challenge.status_code == 401


class ConnectionLostError(McpConnectionError):
    """The connection was lost before an answer arrived. The request may have taken effect."""


class SessionEndedError(McpConnectionError):
    """The MCP server no longer knows the session, and has not looked at the request."""


@dataclass(frozen=True, eq=False)
class ClientHandlers:
    """Answers of the author's program to questions of a server."""

    elicitation_callback: ElicitationFnT | None = None
    sampling_callback: SamplingFnT | None = None
    sampling_capabilities: SamplingCapability | None = None


PERSON_ANSWERS = ClientHandlers(cancel_question, refuse_sample)
"""Without functions of the author: the person answers, by `elicitation`."""


class Challenge:
    """The answer in which a server has asked a connection for a sign-in, or for more scopes."""

    response: httpx2.Response | None = None

    async def note(self, response: httpx2.Response) -> None:
        """Keep the response if it asks for a token. A hook, because `mcp` tells no status and no header."""
        wants_scopes = extract_field_from_www_auth(response, "error") == "insufficient_scope"
        if response.status_code == 401 or (response.status_code == 403 and wants_scopes):
            self.response = response


class McpConnection:
    """Connection for all tasks of the running event loop; starts to open immediately.

    Args:
        server: name of the server in messages.
        transport: the transport, not yet entered.
        timeout: seconds for opening the connection.
        read_timeout: seconds for the answer to a request.
        idle_seconds: seconds without a request before the connection closes itself; None to keep it open.
        handlers: answers to the server's questions.
        challenge: keeps what the transport has seen of the server's wish for a sign-in.
    """

    def __init__(
        self,
        server: str,
        transport: Transport,
        *,
        timeout: float,
        read_timeout: float,
        idle_seconds: float | None = None,
        handlers: ClientHandlers = PERSON_ANSWERS,
        challenge: Challenge | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._server = server
        self._challenge = challenge or Challenge()
        self._client = Client(
            transport,
            read_timeout_seconds=read_timeout,
            elicitation_callback=handlers.elicitation_callback,
            sampling_callback=handlers.sampling_callback,
            sampling_capabilities=handlers.sampling_capabilities,
        )
        self._timeout = timeout
        self._idle_seconds = idle_seconds
        self._pending_requests = 0
        self._last_use = loop.time()
        self._stop = asyncio.Event()
        self._opened: asyncio.Future[Client] = loop.create_future()
        # Reads the exception: asyncio logs an unread exception, also if all requests were cancelled before.
        self._opened.add_done_callback(lambda opened: opened.cancelled() or opened.exception())
        # In an empty context: the connection outlives the invocation that opens it.
        self._task = loop.create_task(self._hold(), name=f"MCP connection to {server}", context=Context())

    @property
    def is_usable(self) -> bool:
        """Return True until the connection is closed or lost."""
        return not self._stop.is_set() and not self._task.done()

    async def request(self, send: Send[T]) -> T:
        """Send a request once the connection is open.

        Raises:
            SessionEndedError: the server refused the request because it has forgotten the session.
            SignInNeededError: the server wants a token, or another.
            UnreachableError: the connection cannot be opened.
            ConnectionLostError: the connection was lost before an answer arrived.
            MCPError: the server answered with an error, or did not answer in time.
        """
        self._pending_requests += 1
        try:
            # Shielded: all requests await one future, and a cancelled request must not cancel it for the others.
            client = await asyncio.shield(self._opened)
            return await send(client)
        except UnreachableError:
            self._check_challenge()
            raise
        except MCPError as error:
            if error.message in _SESSION_ENDED:
                self._stop.set()
                raise SessionEndedError() from error
            # Before the challenge, which was another request's: the server may have read this one.
            if error.code == CONNECTION_CLOSED:
                self._stop.set()
                raise ConnectionLostError(
                    f"The connection to the MCP server {self._server!r} was lost."
                ) from error
            if error.code != REQUEST_TIMEOUT:
                self._check_challenge()
            raise
        finally:
            self._pending_requests -= 1
            self._last_use = asyncio.get_running_loop().time()

    def _check_challenge(self) -> None:
        if self._challenge.response is None:
            return
        # The server continues its work on other requests.
        if self._pending_requests == 1:
            self._stop.set()
        # Without a cause: its text may come from the server's answer.
        raise SignInNeededError(self._server, self._challenge.response) from None

    async def close(self) -> None:
        """Close the connection and wait for the end of its server program."""
        self._stop.set()
        # An open connection ends by itself once `_stop` is set; only the opening has to be interrupted.
        if not self._opened.done():
            self._task.cancel()
        await asyncio.wait([self._task])

    async def _hold(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                # asyncio's timeout: a timeout of anyio cannot end before the scopes that the client opens within it.
                async with asyncio.timeout(self._timeout):
                    client = await stack.enter_async_context(self._client)
                self._opened.set_result(client)
                await self._wait_for_end()
        except Exception as error:  # noqa: BLE001  # requests raise it, and a later failure ends them by itself
            self._report_failure(error)
        finally:
            self._stop.set()
            if not self._opened.done():
                self._opened.set_exception(
                    McpConnectionError(f"The connection to {self._server!r} was closed.")
                )

    async def _wait_for_end(self) -> None:
        while not self._stop.is_set():
            try:
                await asyncio.wait_for(self._stop.wait(), self._idle_seconds)
            except TimeoutError:
                idle = asyncio.get_running_loop().time() - self._last_use
                if not self._pending_requests and self._idle_seconds and idle >= self._idle_seconds:
                    self._stop.set()

    def _report_failure(self, error: Exception) -> None:
        reason = _reason(error, self._timeout)
        if self._opened.done():
            logger.info("The connection to the MCP server %r ended: %s", self._server, reason)
            return
        # Without a cause: the error of the HTTP client has the URL in its text, and tracebacks show causes.
        self._opened.set_exception(
            UnreachableError(f"The MCP server {self._server!r} cannot be reached: {reason}.")
        )


def _reason(error: BaseException, timeout: float) -> str:
    """Describe an error, or the first error of a group, without secrets of URLs."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"it did not answer within {timeout:g} s"
    if isinstance(error, httpx2.HTTPStatusError):
        return f"it answered with status {error.response.status_code}"
    return without_secrets_of_urls(str(error)).rstrip(".") or type(error).__name__
