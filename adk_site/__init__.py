"""The Django project: settings, routing, the Celery app, the demo agents."""
