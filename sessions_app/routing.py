"""URL patterns of the websockets, and of the event streams for browsers whose websockets are blocked."""

from django.urls import path
from django.urls.resolvers import RoutePattern

from sessions_app.chat.consumers import ChatConsumer
from sessions_app.live.account_changes import follow_accounts

websocket_urlpatterns = [path("ws/chat/<uuid:session_id>/", ChatConsumer.as_asgi())]
event_stream_pattern = RoutePattern("sse/chat/<uuid:session_id>/", is_endpoint=True)
follow_accounts()
