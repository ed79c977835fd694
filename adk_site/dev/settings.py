"""The site's settings in development, for tools that read them without `make run` or `manage.py`: mypy."""

import os

os.environ.setdefault("ADK_DEV", "1")

from adk_site.settings import *  # noqa: F403
