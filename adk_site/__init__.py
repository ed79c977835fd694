"""The Django project: settings, routing, the Celery app and the demo agents."""

from adk_site.celery import app as celery_app
from adk_site.garbage_collection import collect_less_often

__all__ = ["celery_app"]

collect_less_often()
