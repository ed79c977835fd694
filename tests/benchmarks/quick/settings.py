"""The site's settings with the quick agent and small caches: growth after they are full is a leak."""

from adk_site.settings import *  # noqa: F403
from adk_site.settings import INSTALLED_APPS
from runtime.engine import contents_cache
from tests.high_limits import HIGH_LIMITS

INSTALLED_APPS += ["tests.benchmarks.quick"]
ADK = {**HIGH_LIMITS, "cached_bytes": 2_000_000}
contents_cache.MAX_CACHED_BYTES = 1_000_000
