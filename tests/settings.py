"""The settings of the tests: the site's, with servers and a data directory for each test process.

pytest-django loads settings before any conftest, so the variables that they depend on are set here. Tests beside
an agent have these settings, too. They need no servers, which `conftest.py` prepares.
"""

import os
from tempfile import mkdtemp
from urllib.parse import urlsplit

os.environ["ADK_DEV"] = "1"
os.environ["ADK_MODEL"] = "demo"  # whatever key the developer has set
os.environ["ADK_DATA_DIR"] = mkdtemp(prefix="adk-tests-")
os.environ["ADK_POSTGRES_FSYNC"] = "off"  # tests kill processes, not machines
if url := os.environ.get("REDIS_URL"):
    # Processes that share the tests share this Redis too; pytest-django gives each a PostgreSQL database.
    number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    os.environ["REDIS_URL"] = urlsplit(url)._replace(path=f"/{number}").geturl()

from adk_site.settings import *  # noqa: F403

ADK = {**ADK, "reload_agents": False}  # noqa: F405  # a test that changes agents asks for the reload itself
# Requests and threads share connections, as in a web process of the site: opening one for each call of the ORM takes
# a third of the CPU time of tests that commit. No test waits for a connection.
DATABASES["default"]["OPTIONS"]["pool"] = {"min_size": 0, "max_size": 100}  # noqa: F405
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# With a limit the Redis client calls `asyncio.wait_for`, which before Python 3.12 may drop a cancellation. The loop of
# a request of Django's synchronous client cancels its tasks once, and would wait for them for ever.
CHANNEL_LAYERS["default"]["CONFIG"]["hosts"][0]["socket_timeout"] = None  # noqa: F405
