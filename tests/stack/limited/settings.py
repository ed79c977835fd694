"""The site's settings with the agent whose jobs do not end by themselves."""

from adk_site.settings import *  # noqa: F403
from adk_site.settings import INSTALLED_APPS

INSTALLED_APPS += ["tests.stack.limited"]
