"""The Django project: settings, routing, the Celery app and the demo agents."""

from adk_site.celery import app as celery_app

__all__ = ["celery_app"]
