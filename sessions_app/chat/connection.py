"""Connection of one browser tab to one session, or to the user's list, by websocket or by event stream.

    open() --+-- not signed in -------------------------> close 4401
             +-- too many connections --- error frame --> close 4429
             +-- session of someone else, or none ------> close 4404
             `-- owner --> sender sends --> leave()

Websocket and event stream share these checks. They differ in how frames travel, which the callers pass as a
`Transport`. Later ends come from the sender: 4401 after a sign-out, 4408 for a browser that does not read, 4503 on a
failure.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from sessions_app.base import actors
from sessions_app.base.client_address import client_address, client_network
from sessions_app.base.languages import activate_for_connection, time_zone_of
from sessions_app.chat import protocol
from sessions_app.chat.frame_sender import Transport
from sessions_app.chat.viewer import ListViewer, SessionViewer
from sessions_app.conf import HIDDEN, conf
from sessions_app.errors import LimitExceededError
from sessions_app.limits import quotas
from sessions_app.limits.open_sockets import open_sockets
from sessions_app.live.process import live
from sessions_app.live.sign_ins import SiteSignIn
from sessions_app.process.process_metrics import add_connections
from sessions_app.process.threads import in_thread
from sessions_app.sessions.ownership import User
from sessions_app.store.shared_state import remember_time_zone
from sessions_app.store.sql import event_log
from sessions_app.use_cases.sessions import may_create_session


class TabConnection:
    """Admit the owner of a session or list, within the limits, until the sign-in ends. The sender sends the frames.

    Create the object in the task of the socket or stream: the constructor activates the browser's language and time
    zone in the current task.

    Args:
        scope: ASGI scope with `user`, and the session's id in `url_route`; without an id the list is the user's own.

    Attributes:
        session_viewer: the viewer of the session; None for a connection to the list.
    """

    def __init__(self, scope: Mapping[str, Any], transport: Transport) -> None:
        activate_for_connection(scope)
        session_id: UUID | None = scope["url_route"]["kwargs"].get("session_id")
        self.user: User = scope["user"]
        self.actor = actors.person(self.user, client_address(scope))
        self.network = client_network(scope)
        self.session_viewer: SessionViewer | None = None
        self.viewer: ListViewer
        if session_id is None:
            self.viewer = ListViewer(self.user, f"the sessions of user {self.user.pk}", transport)
        else:
            self.viewer = self.session_viewer = SessionViewer(session_id, self.user, transport)
        self.sender = self.viewer.sender
        self._scope = scope
        self._socket_id = ""
        self._sign_ins = live().sign_ins
        self._sign_in: SiteSignIn | None = None

    async def open(self) -> None:
        """Admit the session's owner, or close the connection with one of the codes of the module's docstring."""
        if not self.user.is_authenticated:
            await self.sender.end(protocol.CLOSE_NOT_SIGNED_IN)
            return
        add_connections(1)
        self._sign_in = SiteSignIn.of_scope(self._scope)
        # Before the first await: a sign-out during the checks must end this connection, too.
        self._sign_ins.watch(self._sign_in, self.sender.on_signed_out)
        if await self._count_open_socket() and self.session_viewer:
            await self._admit_owner(self.session_viewer)

    async def _admit_owner(self, viewer: SessionViewer) -> None:
        """Admit the owner of the session, or the user whose first message creates it."""
        if self.new_app and await may_create_session(self.user, self.new_app, viewer.session_id):
            viewer.expect_session(self.new_app)
            await self._remember_time_zone(self.new_app)
            return
        # On the asynchronous pool: `own_session` would take a thread for each tab that connects.
        session_status = await event_log.session_status(viewer.session_id, self.user.pk)
        if session_status is None or conf().access_of(session_status.app_name) == HIDDEN:
            await self.sender.end(protocol.CLOSE_NOT_FOUND)
        else:
            await self._remember_time_zone(session_status.app_name)

    def leave(self) -> None:
        """Stop sending, and count the connection as closed. Running invocations continue."""
        if self._sign_in is not None:  # Otherwise `open` has neither counted nor watched the user.
            self._sign_ins.unwatch(self._sign_in, self.sender.on_signed_out)
            open_sockets().close(self._socket_id)
            add_connections(-1)
        self.sender.leave()

    @property
    def new_app(self) -> str:
        """Name of the app with which the first message creates the session (`?new=`); empty for an existing session."""
        return self.query("new")

    def query(self, name: str) -> str:
        """Return the first value of a query parameter; empty if it is missing."""
        values = parse_qs(self._scope.get("query_string", b"").decode("ascii", "replace"))
        return str(values.get(name, [""])[0])

    async def is_signed_in(self) -> bool:
        """True if the sign-in was valid at the last tick, or is valid now."""
        return self._sign_in is not None and await self._sign_ins.is_valid(self._sign_in)

    async def _remember_time_zone(self, app_name: str) -> None:
        """Store the browser's time zone for scheduled tasks, which run while no browser is open."""
        if zone := time_zone_of(self._scope.get("cookies", {})):
            await in_thread(remember_time_zone, app_name, self.user.pk, zone)

    async def _count_open_socket(self) -> bool:
        """Count this connection as open; if too many are, close it and return False."""
        try:
            self._socket_id = await open_sockets().open(quotas.open_sockets(self.user.pk, self.network))
        except LimitExceededError as error:
            await self.sender.end(protocol.CLOSE_TOO_MANY, protocol.error_frame(error).json())
            return False
        return True
