"""Temporary PostgreSQL and Redis servers for benchmarks, with `fsync` on, as in production."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import mkdtemp


@contextmanager
def bench_site(settings_module: str = "tests.benchmarks.settings") -> Iterator[None]:
    """Set up Django on new embedded servers with a migrated database, and delete their data at the end."""
    os.environ.setdefault("ADK_DEV", "1")
    os.environ["ADK_MODEL"] = "demo"
    os.environ["ADK_DATA_DIR"] = mkdtemp(prefix="adk-bench-")
    os.environ["DJANGO_SETTINGS_MODULE"] = settings_module
    os.environ["LOG_LEVEL"] = "WARNING"

    import django
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    from adk_site.embedded.lifetime import running_servers

    with running_servers(settings.DATA_DIR):
        os.environ.update(DATABASE_URL=settings.DATABASE_URL, REDIS_URL=settings.REDIS_URL)
        django.setup()
        call_command("migrate", verbosity=0)
        connections.close_all()
        yield
    shutil.rmtree(settings.DATA_DIR)
