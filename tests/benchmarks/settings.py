"""The site's settings with the agents of the benchmarks."""

from adk_site.settings import *  # noqa: F403
from adk_site.settings import INSTALLED_APPS
from tests.high_limits import HIGH_LIMITS

ADK = HIGH_LIMITS
INSTALLED_APPS += ["tests.benchmarks.large", "tests.benchmarks.paced", "tests.benchmarks.working"]
