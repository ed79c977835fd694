"""The Django project: settings, routing, the Celery app and the demo agents."""
