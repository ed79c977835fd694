"""The settings of the browser tests for a site in development: eval sets are written beside the agents."""

from tests.browser.settings import *  # noqa: F403
from tests.browser.settings import ADK as _ADK

ADK = {**_ADK, "reload_agents": True}
