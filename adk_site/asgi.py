"""What Daphne serves: pages over HTTP, conversations over websockets from this site's own pages only."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "adk_site.settings")
http = get_asgi_application()

# Consumers import models, which exist only now that Django is set up.
from adk_site.backpressure import waits_for_readers  # noqa: E402
from adk_site.garbage_collection import collect_rarely  # noqa: E402
from adk_site.health import with_health  # noqa: E402
from adk_site.shutdown import leave_in_good_order  # noqa: E402
from sessions_app.routing import websocket_urlpatterns  # noqa: E402

leave_in_good_order()
websocket = AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)))
application = ProtocolTypeRouter({"http": with_health(http), "websocket": waits_for_readers(websocket)})
collect_rarely()
