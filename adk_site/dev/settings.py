"""The site's settings in development, for tools without `make run` or `manage.py`, such as mypy."""

import os

os.environ.setdefault("ADK_DEV", "1")

from adk_site.settings import *  # noqa: F403
