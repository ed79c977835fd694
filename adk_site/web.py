"""`python -m adk_site.web`: Daphne with its usual arguments, on uvloop, which needs less CPU than asyncio's loop."""

import os
import sys

import uvloop
from twisted.internet import asyncioreactor

asyncioreactor.install(uvloop.new_event_loop())  # type: ignore[no-untyped-call]

# Imported after the reactor is installed: Daphne installs its own if there is none.
from daphne.cli import CommandLineInterface  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.exceptions import ImproperlyConfigured  # noqa: E402

from adk_site.daphne.access_log import mask_access_log  # noqa: E402
from adk_site.daphne.body_limit import limit_bodies  # noqa: E402
from adk_site.daphne.slow_requests import end_slow_requests  # noqa: E402
from adk_site.web_database import limit_database_use  # noqa: E402
from sessions_app.conf import conf  # noqa: E402

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "adk_site.settings")
    try:
        # Before Daphne imports the application, which may open the first connection.
        limit_database_use(settings.DATABASES["default"], conf())
    except ImproperlyConfigured as error:
        sys.exit(f"{error}")
    limit_bodies()
    end_slow_requests()
    mask_access_log()
    CommandLineInterface.entrypoint()
