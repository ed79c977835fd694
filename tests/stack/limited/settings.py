"""The site's settings with the agent of the time limit tests."""

from adk_site.settings import *  # noqa: F403
from adk_site.settings import INSTALLED_APPS
from tests.high_limits import HIGH_LIMITS

ADK = {**HIGH_LIMITS, "cancel_grace_seconds": 2.0}
INSTALLED_APPS += ["tests.stack.limited"]
