"""The site's settings with the app of the test of lost answers, and connections for as many as it holds."""

from tests.stack.settings import *  # noqa: F403
from tests.stack.settings import ADK, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.stack.lost_answers"]
ADK = {**ADK, "page_connections": 40}
