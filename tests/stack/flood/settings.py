"""The site's settings with the flooding agent; how long a slow reader is waited for is the test's to say."""

import os

from adk_site.settings import *  # noqa: F403
from adk_site.settings import INSTALLED_APPS

INSTALLED_APPS += ["tests.stack.flood"]
ADK = {"slow_reader_seconds": float(os.environ["SLOW_READER_SECONDS"])}
