"""URL patterns of the websockets."""

from django.urls import path

from sessions_app.chat.consumers import ChatConsumer

websocket_urlpatterns = [path("ws/chat/<uuid:session_id>/", ChatConsumer.as_asgi())]
