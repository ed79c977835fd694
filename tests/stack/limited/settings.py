"""The site's settings with the agent of the time limit tests."""

from adk_site.settings import *  # noqa: F403
from adk_site.settings import INSTALLED_APPS

INSTALLED_APPS += ["tests.stack.limited"]
