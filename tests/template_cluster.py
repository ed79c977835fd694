"""Template of the tests' PostgreSQL clusters, in which every database has all tables already.

The migrations take four seconds of CPU time, and each test process and each site of a test makes a cluster of its own.
They copy this one and find nothing to migrate. Making the template shows that the migrations work on an empty cluster,
and so do the tests of `tests/stack/test_readme.py`, which do not use the template.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from adk_site.embedded.paths import CHECKOUT, socket_dir
from adk_site.embedded.postgres import Postgres

TEMPLATES = CHECKOUT / ".test_clusters"
UNUSED_SECONDS = 24 * 3600.0  # no run that copies an older template goes on
SOURCES = (
    "requirements*.txt",
    "sessions_app/migrations/**/*.py",
    "sessions_app/migrations/**/*.sql",
    "adk_site/settings.py",
)


def template_cluster() -> Path:
    """Return the directory of the template, which is made anew when a file that decides on the tables has changed."""
    TEMPLATES.mkdir(exist_ok=True)
    files = sorted(path for pattern in SOURCES for path in CHECKOUT.glob(pattern))
    sources = [
        sys.version.encode(),
        *(content for path in files for content in (path.name.encode(), path.read_bytes())),
    ]
    template = TEMPLATES / sha256(b"\0".join(sources)).hexdigest()[:16]
    with (TEMPLATES / "lock").open("a") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        if not template.exists():
            for other in TEMPLATES.glob("*/"):
                if other.stat().st_mtime < time.time() - UNUSED_SECONDS:
                    shutil.rmtree(other)
            make_template(template)
    return template


def make_template(template: Path) -> None:
    """Make a cluster, migrate the database that new ones are copied from, and move the cluster's files."""
    with TemporaryDirectory(dir=TEMPLATES) as data, ExitStack() as at_end:
        postgres = Postgres(Path(data))
        sockets = socket_dir(postgres.data)
        sockets.mkdir(mode=0o700)
        at_end.callback(shutil.rmtree, sockets)
        at_end.callback(postgres.stop)
        postgres.start()
        url = f"postgresql://postgres@/template1?host={sockets}"
        variables = {"DATABASE_URL": url, "REDIS_URL": "redis://unused", "ADK_DEV": "1", "ADK_DATA_DIR": data}
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
            cwd=CHECKOUT,
            env={**os.environ, **variables, "DJANGO_SETTINGS_MODULE": "adk_site.settings"},
            check=True,
        )
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP DATABASE postgres")
            connection.execute("CREATE DATABASE postgres")
        postgres.stop()
        (postgres.data / "postgres").rename(template)
