"""The settings of these tests for processes behind a pooler."""

from adk_site.settings import ADK as SITE
from tests.stack.settings import *  # noqa: F403
from tests.stack.settings import ADK as TESTS

ADK = {**SITE, **TESTS}
