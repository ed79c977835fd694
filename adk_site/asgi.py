"""ASGI application for Daphne: pages over HTTP; websockets and event streams for the site's own pages."""

import os

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "adk_site.settings")
pages = get_asgi_application()

# These modules import models, so Django must be set up first.
from adk_site.garbage_collection import exclude_permanent_objects  # noqa: E402
from adk_site.health import with_health  # noqa: E402
from adk_site.reloading import reload_in_web_process  # noqa: E402
from sessions_app.routing import http_application, websocket_application  # noqa: E402

http = http_application(pages)
application = ProtocolTypeRouter({"http": with_health(http), "websocket": websocket_application})
exclude_permanent_objects()
reload_in_web_process()
