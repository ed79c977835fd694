"""Evaluations of apps: cases that Celery tasks run in memory, stored results, and changes since an earlier run."""
