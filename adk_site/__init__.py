"""The Django project: settings, routing, the Celery app and the demo agents."""

from adk_site.garbage_collection import collect_less_often

collect_less_often()
