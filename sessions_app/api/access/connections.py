"""Connections of programs: counted against the caller's quota, and ended with the caller's sign-in or key."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from sessions_app.api.access.callers import Caller
from sessions_app.asgi.protocol import AsgiScope
from sessions_app.limits import quotas
from sessions_app.limits.open_sockets import open_sockets
from sessions_app.live.process import live
from sessions_app.live.sign_ins import SiteSignIn
from sessions_app.live.updates import EndReason
from sessions_app.process.process_metrics import add_connections


class Endable(Protocol):
    """Something to end when the reader's sign-in or key ends.

    Attributes:
        user_id: primary key of the session's user.
    """

    @property
    def user_id(self) -> Any: ...

    def end(self, reason: EndReason) -> None:
        """End early."""


class Stream(Endable, Protocol):
    """Frames of a response.

    Attributes:
        reason: why the frames ended early; empty otherwise.
    """

    @property
    def reason(self) -> str: ...

    def frames(self) -> AsyncGenerator[str]:
        """Yield the frames."""


async def reserve_connection(caller: Caller) -> AbstractContextManager[None]:
    """Count a connection as open. Return a context manager that counts it as closed at its exit.

    Raises:
        LimitExceededError: the user or the network has too many open connections.
    """
    return _reserved(await open_sockets().open(quotas.open_sockets(caller.user.pk, caller.network)))


@contextmanager
def _reserved(socket_id: str) -> Iterator[None]:
    add_connections(1)
    try:
        yield
    finally:
        open_sockets().close(socket_id)
        add_connections(-1)


@contextmanager
def end_on_sign_out(caller: Caller, scope: AsgiScope, stream: Endable) -> Iterator[None]:
    """End the stream if the caller's sign-in or key ends during the block."""

    def end() -> None:
        stream.end("signed_out")

    if caller.key:
        sign_in = SiteSignIn.of_key(caller.key, stream.user_id)
    else:
        sign_in = SiteSignIn.of_scope(scope)
    sign_ins = live().sign_ins
    sign_ins.watch(sign_in, end)
    try:
        yield
    finally:
        sign_ins.unwatch(sign_in, end)
