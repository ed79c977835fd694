"""The site's settings with the obedient agent, and short patience."""

from adk_site.settings import *  # noqa: F403
from adk_site.settings import CELERY_BEAT_SCHEDULE, INSTALLED_APPS

INSTALLED_APPS += ["tests.chaos.site"]
ADK = {
    "lease_seconds": 4.0,
    "heartbeat_seconds": 1.0,
    "job_lost_seconds": 8.0,
    "job_resend_seconds": 10.0,
    "invocation_attempts": 50,
}
CELERY_BEAT_SCHEDULE["sweep"]["schedule"] = 1.0
