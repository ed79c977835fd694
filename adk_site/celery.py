"""The Celery app of the site. Tasks are found in the `tasks` module of every installed app."""

import os
import signal
from typing import Any

import billiard
from celery import Celery
from celery.apps.worker import Worker

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "adk_site.settings")


class PatientWorker(Worker):
    """Told to stop before it is ready it just ends: Celery's own handler trips over a half made pool."""

    def on_start(self) -> None:
        """Celery installs its handler here."""
        super().on_start()
        self._when_ready = signal.signal(signal.SIGTERM, _leave)

    def on_consumer_ready(self, consumer: Any) -> None:
        """From here on there may be work to hand back."""
        super().on_consumer_ready(consumer)
        signal.signal(signal.SIGTERM, self._when_ready)


class SiteCelery(Celery):
    """Celery with that worker."""

    @property
    def Worker(self) -> type[PatientWorker]:
        """The class of `celery worker`."""
        worker: type[PatientWorker] = self.subclass_with_self(PatientWorker, name="Worker")
        return worker


def _leave(*_: object) -> None:
    for child in billiard.active_children():
        if child.pid is not None:
            os.kill(child.pid, signal.SIGKILL)
    os._exit(0)


app = SiteCelery("adk_site")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
