"""Temporary PostgreSQL and Redis servers for benchmarks, with `fsync` on, as in production."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

import psutil

from tests.benchmarks.daphne import cpu_seconds


@contextmanager
def bench_site(settings_module: str = "tests.benchmarks.settings") -> Iterator[None]:
    """Set up Django on new embedded servers with a migrated database, and delete their data at the end.

    The data stays in the directory that `BENCH_DATA_DIR` names, for the next run.
    """
    os.environ.setdefault("ADK_DEV", "1")
    os.environ["ADK_MODEL"] = "demo"
    kept = os.environ.get("BENCH_DATA_DIR")
    os.environ["ADK_DATA_DIR"] = kept or mkdtemp(prefix="adk-bench-")
    os.environ["DJANGO_SETTINGS_MODULE"] = settings_module
    os.environ["LOG_LEVEL"] = "WARNING"

    import django
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    from adk_site.embedded.lifetime import running_servers

    try:
        with running_servers(settings.DATA_DIR):
            os.environ.update(DATABASE_URL=settings.DATABASE_URL, REDIS_URL=settings.REDIS_URL)
            django.setup()
            call_command("migrate", verbosity=0)
            connections.close_all()
            yield
    finally:
        if not kept:
            shutil.rmtree(settings.DATA_DIR)


def postgres_cpu_seconds() -> float:
    """Return the CPU time so far of the site's PostgreSQL, with its ended connections."""
    pid_file = Path(os.environ["ADK_DATA_DIR"]) / "postgres" / "postmaster.pid"
    server = psutil.Process(int(pid_file.read_text().split()[0]))
    times = server.cpu_times()
    seconds = cpu_seconds(server) + float(times.children_user + times.children_system)
    for child in server.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # ended meanwhile
            seconds += cpu_seconds(child)
    return seconds
