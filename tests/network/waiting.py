"""Program of a site that waits for its servers: `python -m tests.network.waiting`.

It prints `ready`. It prints what each wait was for when it ended with an error. A thread keeps a lock of PostgreSQL.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import django
from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import connections, transaction
from kombu import Connection

from sessions_app.process.pool import fetch_one

LOCK = 37


def wait_for_message(is_ready: Callable[[], object]) -> None:
    with Connection(settings.CELERY_BROKER_URL) as connection:
        queue = connection.SimpleQueue("waiting")
        is_ready()
        queue.get(timeout=1000)


def wait_for_statement(is_ready: Callable[[], object]) -> None:
    is_ready()
    async_to_sync(fetch_one)("SELECT pg_sleep(1000)", {})


def send_statement(is_ready: Callable[[], object]) -> None:
    """Send a statement after a line of the input, by a connection that is open."""
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT 1")
        is_ready()
        sys.stdin.readline()
        cursor.execute("SELECT 1")


def keep_lock(is_ready: Callable[[], object]) -> None:
    with transaction.atomic(), connections["default"].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        is_ready()
        threading.Event().wait()


def _run(wait: Callable[[Callable[[], object]], None], all_ready: threading.Barrier) -> None:
    try:
        wait(all_ready.wait)
    except Exception:  # noqa: BLE001 - each driver has its own
        print(wait.__name__, flush=True)


def main() -> None:
    django.setup()
    from adk_site.celery import app  # noqa: F401 - brings the transport of the broker

    waits = (wait_for_message, wait_for_statement, send_statement, keep_lock)
    all_ready = threading.Barrier(len(waits) + 1)
    for wait in waits:
        threading.Thread(target=_run, args=[wait, all_ready], daemon=True).start()
    all_ready.wait()
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
