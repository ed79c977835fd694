"""The site's settings with short leases: invocations of dead processes are resumed within seconds."""

from adk_site.settings import *  # noqa: F403
from adk_site.settings import CELERY_BEAT_SCHEDULE
from tests.high_limits import HIGH_LIMITS

# Few connections, so that the crowd of a test wants more.
CONNECTIONS = {"pool_size": 4, "page_connections": 2, "database_threads": 2, "page_wait_seconds": 100.0}
ADK = {
    **HIGH_LIMITS,
    **CONNECTIONS,
    "lease_seconds": 4.0,
    "heartbeat_seconds": 0.5,
    "webhooks_to_localhost": True,
}
CELERY_BEAT_SCHEDULE["sweep"]["schedule"] = 1.0
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
