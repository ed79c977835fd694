"""The site's settings, but what dead processes left is taken up within seconds."""

from adk_site.settings import *  # noqa: F403
from adk_site.settings import CELERY_BEAT_SCHEDULE

ADK = {"lease_seconds": 4.0, "heartbeat_seconds": 0.5}
CELERY_BEAT_SCHEDULE["sweep"]["schedule"] = 1.0
