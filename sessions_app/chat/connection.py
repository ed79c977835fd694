"""Connection: one browser tab on one session, by websocket or by event stream."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from sessions_app.base import actors
from sessions_app.base.client_address import client_address, client_network
from sessions_app.base.languages import activate_for_connection, browser_time_zone
from sessions_app.chat import protocol
from sessions_app.chat.viewer import Viewer
from sessions_app.errors import LimitExceededError
from sessions_app.limits import quotas
from sessions_app.limits.open_sockets import open_sockets
from sessions_app.live.process import live
from sessions_app.live.sign_ins import SignIn
from sessions_app.process.process_metrics import add_connections
from sessions_app.process.threads import in_thread
from sessions_app.sessions.ownership import User
from sessions_app.store.shared_state import remember_time_zone
from sessions_app.store.sql import event_log
from sessions_app.use_cases.sessions import may_create_session


class Connection:
    """Lets the owner of a session in, within the limits, until the sign-in ends. The viewer sends the frames.

    The constructor runs in the task of the socket or stream, and sets the language and time zone of that task.

    Args:
        scope: ASGI scope with the person, and with the session's id from the address.
        send: sends a frame; see `Viewer`.
        close: closes the socket or the stream with a code.
    """

    def __init__(
        self,
        scope: Mapping[str, Any],
        *,
        send: Callable[[str], Awaitable[None]],
        close: Callable[[int], Coroutine[Any, Any, None]],
    ) -> None:
        activate_for_connection(scope)
        self.session_id: UUID = scope["url_route"]["kwargs"]["session_id"]
        self.user: User = scope["user"]
        self.actor = actors.person(self.user, client_address(scope))
        self.network = client_network(scope)
        self.viewer = Viewer(self.session_id, self.user, send=send, close=close)
        self._scope = scope
        self._socket_id = ""

    async def open(self) -> None:
        """Let the session's owner in.

        Anyone else gets a close code and nothing more. With too many open connections an `error` frame precedes the
        code.
        """
        if not self.user.is_authenticated:
            await self.viewer.end(protocol.CLOSE_NOT_SIGNED_IN)
            return
        add_connections(1)
        self._sign_in = SignIn.of_scope(self._scope)
        self._sign_ins = live().sign_ins
        self._sign_ins.watch(self._sign_in, self.viewer.on_signed_out)
        if not await self._count_open_socket():
            return
        if self.new_app and await may_create_session(self.new_app, self.session_id):
            self.viewer.expect_session(self.new_app)
            await self._remember_time_zone(self.new_app)
            return
        session_status = await event_log.session_status(self.session_id, self.user.pk)
        if session_status is None:
            await self.viewer.end(protocol.CLOSE_NOT_FOUND)
        else:
            await self._remember_time_zone(session_status.app_name)

    def leave(self) -> None:
        """Stop watching, and count the connection as closed. Running invocations go on."""
        if self.user.is_authenticated:
            self._sign_ins.unwatch(self._sign_in, self.viewer.on_signed_out)
            open_sockets().close(self._socket_id)
            add_connections(-1)
        self.viewer.leave()

    @property
    def new_app(self) -> str:
        """App with which the first message creates the session: `?new=` in the address."""
        return self.query("new")

    def query(self, name: str) -> str:
        """Return the first value of a parameter of the query; empty without one."""
        values = parse_qs(self._scope.get("query_string", b"").decode("ascii", "replace"))
        return str(values.get(name, [""])[0])

    async def is_signed_in(self) -> bool:
        """True when the sign-in was valid at the last tick or is valid now."""
        return await self._sign_ins.is_valid(self._sign_in)

    async def _remember_time_zone(self, app_name: str) -> None:
        """Store the browser's time zone, in which scheduled tasks are computed."""
        if zone := browser_time_zone(self._scope.get("cookies", {})):
            await in_thread(remember_time_zone, app_name, self.user.pk, zone)

    async def _count_open_socket(self) -> bool:
        """Count this connection among the open ones. Close it and return False when too many are open."""
        opened = await open_sockets().open(quotas.open_sockets(self.user.pk, self.network))
        if isinstance(opened, str):
            self._socket_id = opened
            return True
        too_many = LimitExceededError(
            f"{opened.most} connections are open already. Close other tabs of this site."
        )
        await self.viewer.end(protocol.CLOSE_TOO_MANY, protocol.error_frame(too_many).json())
        return False
