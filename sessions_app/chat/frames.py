"""Client frames over HTTP, from browsers that read an event stream instead of a websocket."""

from http import HTTPStatus
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from sessions_app.base import actors
from sessions_app.base.client_address import client_address, client_network
from sessions_app.chat import protocol
from sessions_app.chat.frame_handlers import begin_session, count_frame, handle_frame
from sessions_app.chat.protocol import AnyClientFrame, Hello, Message, Ping
from sessions_app.chat.server_frames import PongFrame, notice_frame
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError, http_status
from sessions_app.process.failures import public_error
from sessions_app.process.pool import UNAVAILABLE
from sessions_app.rendering.session_view import SITE_READER
from sessions_app.sessions.ownership import User, own_session_or_404

BYTES_PER_CHARACTER = 4
"""Maximum number of bytes of a character in UTF-8."""


@require_POST
@login_required
async def frames(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Handle the frame in the body of the request.

    The response is a frame in reply (200), nothing (204), an `error` frame with the status of the error, or 503 while
    PostgreSQL is away. With `?new=<app>` a message creates the session if it does not exist yet.
    """
    user = await request.auser()
    if not request.GET.get("new", ""):
        await own_session_or_404(user, session_id)
    # Read no further than the limit, whatever `Content-Length` says.
    body = request.read(conf().frame_limit * BYTES_PER_CHARACTER + 1)
    reply_to = None
    try:
        count_frame(body.decode(errors="replace"), user, client_network(request))
        frame = protocol.parse(body)
        reply_to = protocol.reply_id(frame)
        return await _handle(frame, request, user, session_id)
    except UNAVAILABLE:
        return HttpResponse(status=HTTPStatus.SERVICE_UNAVAILABLE)
    except Exception as error:  # noqa: BLE001 - logged, and reported to the browser
        public = public_error(error, f"Serving session {session_id}")
        return _reply(protocol.error_frame(public, reply_to).json(), http_status(public))


async def _handle(frame: AnyClientFrame, request: HttpRequest, user: User, session_id: UUID) -> HttpResponse:
    new_app = request.GET.get("new", "")
    match frame:
        case Hello():
            raise InvalidInputError("A hello frame opens a websocket. Open the event stream instead.")
        case Ping():
            return _reply(PongFrame().json(), HTTPStatus.OK)
        case Message(replaces=None) if new_app:
            await begin_session(frame, user, session_id, new_app, client_network(request))
    reply = await handle_frame(frame, actors.person(user, client_address(request)), session_id)
    if reply is None:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    # The reply to a message has neither text nor times, so no reader's language or time zone is needed.
    return _reply(notice_frame(reply, SITE_READER), HTTPStatus.OK)


def _reply(frame: str, status: int) -> HttpResponse:
    return HttpResponse(frame, status=status, content_type="application/json")
