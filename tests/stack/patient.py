"""The site's settings for a machine that is busy with other tests: a page may wait long for a connection.

A statement that waits for a locked table ends sooner than usual, and with it a process that is to stop.
"""

from adk_site.settings import *  # noqa: F403

ADK = {"page_wait_seconds": 100.0, "statement_seconds": 10.0}
