"""The site's settings with one more app, short leases, and one resume for each invocation of a dead process."""

import os

from adk_site.settings import *  # noqa: F403
from adk_site.settings import INSTALLED_APPS
from tests.high_limits import HIGH_LIMITS

ADK = {
    **HIGH_LIMITS,
    "share_links": True,
    "dev_ui": True,
    "title_model": os.environ.get("TITLE_MODEL"),  # a title would take an answer of the scripted model
    "dev_ui_directory": os.environ.get("ADK_WEB", ""),
    "lease_seconds": 4.0,
    "heartbeat_seconds": 0.5,
    "invocation_attempts": 2,
    "apps": {
        "questions": {"chat_models": {"gemini-thorough": "Thorough"}},
        "diary": {"remember_facts": True, "remember_after_seconds": 0},
    },
}
INSTALLED_APPS += [
    "tests.browser.notes",
    "tests.browser.outside",
    "tests.browser.questions",
    "tests.browser.diary",
    "tests.browser.flows",
]
# With a minute, as in development, browsers ask for all files again and again.
WHITENOISE_MAX_AGE = 3600
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
