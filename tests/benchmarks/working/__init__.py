"""A Django app for the jobs benchmark: its agent starts a job for every message."""
