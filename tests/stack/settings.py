"""The site's settings with short leases: invocations of dead processes are resumed within seconds."""

from adk_site.settings import *  # noqa: F403
from adk_site.settings import CELERY_BEAT_SCHEDULE
from tests.high_limits import HIGH_LIMITS

ADK = {**HIGH_LIMITS, "lease_seconds": 4.0, "heartbeat_seconds": 0.5, "webhooks_to_localhost": True}
CELERY_BEAT_SCHEDULE["sweep"]["schedule"] = 1.0
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
