"""The site's settings for a machine that is busy with other tests: a page may wait long for a connection."""

from adk_site.settings import *  # noqa: F403

ADK = {"page_wait_seconds": 100.0}
