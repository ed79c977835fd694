"""URL patterns of the websockets, and the ASGI application that serves them."""

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.urls import path

from sessions_app.chat.consumers import ChatConsumer
from sessions_app.live.account_changes import follow_accounts
from sessions_app.serving.backpressure import with_backpressure
from sessions_app.serving.daphne_shutdown import shut_down_before_reactor
from sessions_app.serving.origin import from_own_pages

websocket_urlpatterns = [path("ws/chat/<uuid:session_id>/", ChatConsumer.as_asgi())]
websocket_application = with_backpressure(
    from_own_pages(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)))
)
"""Serves the websockets to signed-in people on pages of this site."""

follow_accounts()
shut_down_before_reactor()
