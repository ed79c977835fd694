"""The site's settings with the obedient agents, short timeouts and a clock that may be wrong."""

from importlib.util import find_spec

from adk_site.settings import *  # noqa: F403
from adk_site.settings import CELERY_BEAT_SCHEDULE, INSTALLED_APPS
from tests.chaos.clock import shift_clock
from tests.high_limits import HIGH_LIMITS

HAS_A2A = find_spec("a2a") is not None
shift_clock()

INSTALLED_APPS += ["tests.chaos.site", "tests.chaos.gemini_site", "tests.chaos.flow_site"]
ADK = {
    **HIGH_LIMITS,
    "lease_seconds": 3.0,
    "heartbeat_seconds": 1.0,
    "job_lost_seconds": 6.0,
    "job_resend_seconds": 6.0,
    "invocation_attempts": 50,
    "schedule_shortest_seconds": 1.0,
    "cancel_grace_seconds": 1.0,
    "a2a_apps": ["chaos"] if HAS_A2A else [],
    "answer_limits": {"forget": {"reject_seconds": 1.0}},
}
CELERY_BEAT_SCHEDULE["sweep"]["schedule"] = 1.0
