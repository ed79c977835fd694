"""Celery app of the site. Celery imports tasks from the `tasks` module of every installed app."""

import os
import signal
from typing import Any

import billiard
from celery import Celery
from celery.apps.worker import Worker
from celery.signals import worker_init

from sessions_app.process.broker import set_unreadable_messages_aside
from sessions_app.process.process_metrics import serve_counts

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "adk_site.settings")


class StartupSafeWorker(Worker):
    """Worker that exits immediately on a SIGTERM during startup."""

    def on_start(self) -> None:
        """Replace the SIGTERM handler, which Celery installs in this hook."""
        super().on_start()
        # Celery's own handler fails while the process pool is only partly created.
        self._celery_handler = signal.signal(signal.SIGTERM, _exit_at_once)

    def on_consumer_ready(self, consumer: Any) -> None:
        """Restore Celery's handler: running tasks must be returned to the queue from now on."""
        super().on_consumer_ready(consumer)
        signal.signal(signal.SIGTERM, self._celery_handler)


class SiteCelery(Celery):
    """Celery app whose worker class is `StartupSafeWorker`."""

    @property
    def Worker(self) -> type[StartupSafeWorker]:
        """Return the class that `celery worker` instantiates."""
        worker: type[StartupSafeWorker] = self.subclass_with_self(StartupSafeWorker, name="Worker")
        return worker


@worker_init.connect
def _serve_counts(**kwargs: Any) -> None:
    # Workers have no pages, and so no `metrics`.
    if port := os.environ.get("METRICS_PORT"):
        serve_counts(int(port))


def _exit_at_once(*_: object) -> None:
    # No task has begun, so nothing is lost. `os._exit` skips handlers that need a complete pool.
    for child in billiard.active_children():
        if child.pid is not None:
            os.kill(child.pid, signal.SIGKILL)
    os._exit(0)


app = SiteCelery("adk_site")
app.config_from_object("django.conf:settings", namespace="CELERY")
set_unreadable_messages_aside(app)
app.autodiscover_tasks()
