"""A Celery worker for measurements: both queues, two processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

PROCESSES = 2


@contextmanager
def celery_worker() -> Iterator[psutil.Process]:
    """Run a worker; yield its first process. It is started, but not necessarily ready, when the body begins."""
    variables = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.benchmarks.settings"}
    command = [sys.executable, "-m", "celery", "--quiet", "-A", "adk_site", "worker", "-Q", "celery,jobs"]
    options = ["-c", str(PROCESSES), "--without-gossip", "--without-mingle", "-l", "ERROR"]
    process = subprocess.Popen([*command, *options], env=variables)
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()
