"""One Celery worker to measure: it takes both queues with two processes, as `make run` starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PROCESSES = 2


@contextmanager
def celery_worker(settings_module: str = "tests.benchmarks.settings", **variables: str) -> Iterator[None]:
    """A worker that has been started; it may not be ready yet."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": settings_module, **variables}
    command = [sys.executable, "-m", "celery", "--quiet", "-A", "adk_site", "worker", "-Q", "celery,jobs"]
    options = ["-c", str(PROCESSES), "--without-gossip", "--without-mingle", "-l", "ERROR"]
    process = subprocess.Popen([*command, *options], env=environment)
    try:
        yield
    finally:
        process.terminate()
        process.wait()
