"""ASGI applications of the websockets, and of HTTP with the event streams for browsers without websockets."""

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.urls import path
from django.urls.resolvers import RoutePattern

from sessions_app.chat.consumers import ChatConsumer
from sessions_app.chat.event_stream import event_stream
from sessions_app.live.account_changes import follow_accounts
from sessions_app.serving.backpressure import with_backpressure
from sessions_app.serving.daphne_shutdown import shut_down_before_reactor
from sessions_app.serving.event_streams import Application, with_event_streams
from sessions_app.serving.origin import from_own_pages

websocket_urlpatterns = [path("ws/chat/<uuid:session_id>/", ChatConsumer.as_asgi())]
websocket_application = with_backpressure(
    from_own_pages(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)))
)
"""Serves the websockets to signed-in people on pages of this site."""
event_stream_pattern = RoutePattern("sse/chat/<uuid:session_id>/", is_endpoint=True)


def http_application(pages: Application) -> Application:
    """Wrap the application that serves the pages: it serves the event streams, too."""
    streams = with_backpressure(from_own_pages(AuthMiddlewareStack(event_stream)))
    return with_event_streams(pages, event_stream_pattern, streams)


follow_accounts()
shut_down_before_reactor()
