"""URL patterns of the websockets."""

from django.urls import path

from sessions_app.chat.consumers import ChatConsumer
from sessions_app.live.account_changes import follow_accounts

websocket_urlpatterns = [path("ws/chat/<uuid:session_id>/", ChatConsumer.as_asgi())]
follow_accounts()
