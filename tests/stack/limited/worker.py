"""A Celery worker with the settings of this folder and the SIGTERM behaviour of `deploy/run`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from tests.forked_program import packages
from tests.stack.database import server_variables

COMMAND = "celery --quiet -A adk_site worker -Q celery,jobs -c 2 --without-gossip --without-mingle -l ERROR"


@contextmanager
def limited_worker() -> Iterator[None]:
    """Run a worker for both queues on the test database; it is started, but not necessarily ready, at the beginning."""
    variables = {"DJANGO_SETTINGS_MODULE": "tests.stack.limited.settings", "REMAP_SIGTERM": "SIGQUIT"}
    environment = {**os.environ, **server_variables(), **variables}
    with open(os.devnull) as nothing:
        process = packages().run(*COMMAND.split(), environment=environment, files=(nothing.fileno(), 1, 2))
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
