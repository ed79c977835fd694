"""The site's settings with the flood agent; the test sets the limit for slow readers in the environment."""

import os

from adk_site.settings import *  # noqa: F403
from adk_site.settings import INSTALLED_APPS

INSTALLED_APPS += ["tests.stack.flood"]
ADK = {"slow_reader_seconds": float(os.environ["SLOW_READER_SECONDS"])}
