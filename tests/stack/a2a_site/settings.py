"""The site's settings with the app of the A2A tests."""

from tests.stack.settings import *  # noqa: F403
from tests.stack.settings import ADK as SHORT_LEASES
from tests.stack.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.stack.a2a_site"]
ADK = {**SHORT_LEASES, "a2a_apps": ["counter"]}
