"""The site's settings with the agents of the benchmarks."""

from adk_site.settings import *  # noqa: F403
from adk_site.settings import INSTALLED_APPS

INSTALLED_APPS += ["tests.benchmarks.paced", "tests.benchmarks.working"]
