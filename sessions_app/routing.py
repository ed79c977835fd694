"""ASGI applications for websockets, event streams and pages.

    websocket   with_backpressure > from_own_pages > with_sign_in > ChatConsumer
    HTTP        with_event_streams +-- route of a stream: with_backpressure > ... > stream
                                   `-- other path: Django's handler

The cheapest check comes first: a handshake from another site is refused before the sign-in reads the database.
"""

from channels.routing import URLRouter
from django.urls import path

from sessions_app.api.adk.runs import ADK_STREAMS
from sessions_app.api.site_streams import API_STREAMS
from sessions_app.api.stream_server import ApiStream
from sessions_app.asgi.daphne import shut_down_before_reactor, with_backpressure
from sessions_app.asgi.event_streams import with_event_streams
from sessions_app.asgi.origin import from_own_pages
from sessions_app.asgi.protocol import Application, AsgiScope, Receive, Send, without_script_prefix
from sessions_app.asgi.sign_in import with_sign_in
from sessions_app.chat.consumers import ChatConsumer
from sessions_app.chat.event_stream import event_stream
from sessions_app.extensions import extensions
from sessions_app.live.account_changes import follow_accounts

websocket_urlpatterns = [
    path("ws/chat/", ChatConsumer.as_asgi()),  # of the user's list, without a session
    path("ws/chat/<uuid:session_id>/", ChatConsumer.as_asgi()),
]
websocket_application = with_backpressure(
    from_own_pages(with_sign_in(without_script_prefix(URLRouter(websocket_urlpatterns))))
)
"""ASGI application of the websockets."""


def with_caller(stream: ApiStream) -> Application:
    """Wrap a stream: add the signed-in user to the scope of a request without an API key."""
    in_browser = with_sign_in(stream)

    async def handle(scope: AsgiScope, receive: Receive, send: Send) -> None:
        has_key = any(name == b"authorization" for name, _ in scope["headers"])
        await (stream if has_key else in_browser)(scope, receive, send)

    return handle


STREAMS = {
    route: from_own_pages(with_sign_in(event_stream))
    for route in ("sse/chat/", "sse/chat/<uuid:session_id>/")
} | {stream.route: with_caller(stream) for stream in (*API_STREAMS, *ADK_STREAMS)}
for extension in extensions():
    for route, stream in extension.streams().items():
        STREAMS[route] = with_caller(stream) if isinstance(stream, ApiStream) else stream
"""ASGI applications of the event streams by route."""


def http_application(pages: Application) -> Application:
    """Wrap the application that serves the pages: add the event streams."""
    return with_event_streams(pages, {route: with_backpressure(stream) for route, stream in STREAMS.items()})


follow_accounts()
shut_down_before_reactor()
