"""The settings of the tests: the site's, with a data directory of the test run.

pytest-django loads settings before any conftest, so what they depend on is set here.
"""

import os
from tempfile import mkdtemp

os.environ["ADK_DEV"] = "1"
os.environ["ADK_MODEL"] = "demo"  # whatever key the developer has set
os.environ["ADK_DATA_DIR"] = mkdtemp(prefix="adk-tests-")
os.environ["ADK_POSTGRES_FSYNC"] = "off"  # tests kill processes, not machines

from adk_site.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
