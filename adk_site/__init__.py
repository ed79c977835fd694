"""The Django project: settings, routing, the Celery app and the demo agents."""

import gc

from adk_site.celery import app as celery_app

__all__ = ["celery_app"]

# Importing the site creates a million objects that live as long as the process. With Python's own threshold, of 700,
# the collector visits them so often that a start takes a fifth longer.
gc.set_threshold(50_000)
