"""The Celery app of the site. Tasks are found in the `tasks` module of every installed app."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "adk_site.settings")

app = Celery("adk_site")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
