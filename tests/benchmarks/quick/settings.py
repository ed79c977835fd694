"""The site's settings with the quick agent, and a history cache that is soon full: what grows then is a leak."""

from adk_site.settings import *  # noqa: F403
from adk_site.settings import INSTALLED_APPS

INSTALLED_APPS += ["tests.benchmarks.quick"]
ADK = {"cached_events": 2_000}
