"""Evaluations of apps: cases that Celery tasks run in memory, stored results, and the change since the last run."""
