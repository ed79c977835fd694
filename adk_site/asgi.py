"""The ASGI application that Daphne serves: pages over HTTP, websockets and event streams from own pages only."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "adk_site.settings")
pages = get_asgi_application()

# These modules import models, so Django must be set up first.
from adk_site.backpressure import with_backpressure  # noqa: E402
from adk_site.event_streams import with_event_streams  # noqa: E402
from adk_site.garbage_collection import exclude_permanent_objects  # noqa: E402
from adk_site.health import with_health  # noqa: E402
from adk_site.origin import from_own_pages  # noqa: E402
from adk_site.reloading import reload_in_web_process  # noqa: E402
from adk_site.shutdown import shut_down_before_reactor  # noqa: E402
from sessions_app.chat.event_stream import event_stream  # noqa: E402
from sessions_app.routing import event_stream_pattern, websocket_urlpatterns  # noqa: E402

shut_down_before_reactor()
websocket = from_own_pages(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)))
streams = from_own_pages(AuthMiddlewareStack(event_stream))
http = with_event_streams(pages, event_stream_pattern, with_backpressure(streams))
application = ProtocolTypeRouter({"http": with_health(http), "websocket": with_backpressure(websocket)})
exclude_permanent_objects()
reload_in_web_process()
